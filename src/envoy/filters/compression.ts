import {
  type google_protobuf_Any as Any,
  envoy_extensions_compression_gzip_compressor_v3_Gzip_CompressionLevel as CompressionLevel,
  type envoy_extensions_filters_http_compressor_v3_Compressor as Compressor,
  type envoy_extensions_filters_http_filter_chain_v3_FilterChainConfig as FilterChainConfig,
} from '../../gen/messages.ts';
import type { CompressionSettings, FormatSettings, GzipSettings } from '../../model/compression.ts';
import { discoveredFilter } from '../discovered-filter.ts';

const COMPRESSOR = 'type.googleapis.com/envoy.extensions.filters.http.compressor.v3.Compressor';
const NOTHING = {
  '@type': 'type.googleapis.com/envoy.extensions.filters.http.filter_chain.v3.FilterChainConfig',
} as const;

/** Compresses answers for clients that take it: a chain of compressors, which is empty where nobody wants any. */
export const COMPRESSION = discoveredFilter('compression', NOTHING);

/** The configuration of `COMPRESSION`. */
export function compression({ gzip, brotli }: CompressionSettings): Any & FilterChainConfig {
  const filters = [
    ...(brotli === undefined ? [] : [{ name: 'brotli', typed_config: brotliCompressor(brotli) }]),
    ...(gzip === undefined ? [] : [{ name: 'gzip', typed_config: gzipCompressor(gzip) }]),
  ];
  return filters.length === 0 ? NOTHING : { ...NOTHING, default_filter_chain: { filters } };
}

function brotliCompressor(settings: FormatSettings): Any {
  return {
    '@type': COMPRESSOR,
    ...compressor(settings),
    compressor_library: {
      name: 'brotli',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.compression.brotli.compressor.v3.Brotli',
        quality: { value: settings.level },
        // As in nginx: 512 KiB.
        window_bits: { value: 19 },
      },
    },
    // For clients that take both alike.
    choose_first: true,
  };
}

function gzipCompressor(settings: GzipSettings): Any {
  const filter: Any = {
    '@type': COMPRESSOR,
    ...compressor(settings),
    compressor_library: {
      name: 'gzip',
      typed_config: {
        '@type': 'type.googleapis.com/envoy.extensions.compression.gzip.compressor.v3.Gzip',
        compression_level: levelOf(settings.level),
        // As in nginx: 32 KiB, and as much memory as zlib takes by itself.
        window_bits: { value: 15 },
        memory_level: { value: 8 },
      },
    },
  };
  return settings.exceptAgents === undefined ? filter : exceptFor(settings.exceptAgents, filter);
}

function levelOf(level: number): CompressionLevel {
  return Object.values(CompressionLevel).find((value) => value === level) ?? CompressionLevel.BEST_SPEED;
}

function compressor({ minBytes, types }: FormatSettings): Compressor {
  return {
    response_direction_config: {
      common_config: {
        // Envoy takes 0 for 30, and an answer of no byte is never compressed.
        min_content_length: { value: Math.max(1, minBytes) },
        content_type_matcher:
          types === 'all' ? [{ safe_regex: { regex: '.*' } }] : types.map((exact) => ({ exact, ignore_case: true })),
      },
      // As nginx does: the content is the same, its bytes are not.
      weaken_etag_on_compress: true,
      uncompressible_response_codes: OTHER_STATUSES,
    },
  };
}

/** nginx compresses answers of these statuses alone. */
const STATUSES: readonly number[] = [200, 403, 404];
const OTHER_STATUSES = Array.from({ length: 400 }, (_, index) => 200 + index).filter(
  (status) => !STATUSES.includes(status),
);

/** The filter for all requests but those of some user agents. */
function exceptFor(agents: string, filter: Any): Any {
  return {
    '@type': 'type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher',
    extension_config: { name: 'gzip', typed_config: filter },
    xds_matcher: {
      matcher_list: {
        matchers: [
          {
            predicate: {
              single_predicate: {
                input: {
                  name: 'user-agent',
                  typed_config: {
                    '@type': 'type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput',
                    header_name: 'user-agent',
                  },
                },
                value_match: { safe_regex: { google_re2: {}, regex: `.*(?:(?i)${agents}).*` } },
              },
            },
            on_match: {
              action: {
                name: 'skip',
                typed_config: {
                  '@type': 'type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter',
                },
              },
            },
          },
        ],
      },
    },
  };
}
