/** How bodies of requests are held on their way to a backend. */
export interface RequestBuffering {
  /** Whether a request waits until its body is there. */
  readonly complete: boolean;
  /** How much of a body is kept in memory. */
  readonly memoryBytes: number;
}

/** How answers of a backend are held on their way to the client. */
export interface AnswerBuffering {
  /** Whether as much as possible is taken from the backend at once. */
  readonly ahead: boolean;
  /** Size of each buffer; the first one holds the headers. */
  readonly bufferBytes: number;
  readonly buffers: number;
  /** How much may be under way to the client while more is taken; 0: two buffers. */
  readonly busyBytes: number;
  /** What does not fit into buffers goes to a file of at most so many bytes; 0 for no file. */
  readonly fileBytes: number;
}

/** How fast an answer is sent. */
export interface Pace {
  /** In each second. */
  readonly kilobytes: number;
  /** So many are sent at once before. */
  readonly after: number;
}

/** As in ingress-nginx. */
export const DEFAULT_REQUEST_BUFFERING: RequestBuffering = { complete: true, memoryBytes: 8 * 1024 };

export const DEFAULT_ANSWER_BUFFERING: AnswerBuffering = {
  ahead: false,
  bufferBytes: 4 * 1024,
  buffers: 4,
  busyBytes: 0,
  fileBytes: 1024 ** 3,
};
