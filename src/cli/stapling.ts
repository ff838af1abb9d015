import type { ClusterState } from '../cluster/cluster-state.ts';
import type { Pass } from '../derive.ts';
import type { ProxyModel } from '../model/proxy-model.ts';
import { SETTINGS } from '../model/settings.ts';
import { type Ask, createAsk } from '../ocsp/ask.ts';
import { createStapler, type Stapler } from '../ocsp/stapler.ts';
import { systemClock } from '../xds/clock.ts';

export interface Stapling {
  /** To be told of every pass: certificates that are served are asked about, as long as `enable-ocsp` says so. */
  settled(pass: Pass): void;
  stop(): void;
}

export interface StaplingOptions {
  readonly state: Pick<ClusterState, 'staples'>;
  readonly model: Pick<ProxyModel, 'certificates' | 'settings'>;
  /** Something was put into the state. */
  onChange(): void;
  readonly ask?: Ask;
}

/** Asks OCSP responders about certificates, and puts what they say into the state. */
export function createStapling({ state, model, onChange, ask = createAsk() }: StaplingOptions): Stapling {
  let stapler: Stapler | undefined;

  function start(): void {
    stapler = createStapler({
      ask,
      clock: { now: Date.now, after: systemClock.after },
      onChange: (name, staple) => {
        state.staples.set(name, staple);
        onChange();
      },
    });
    for (const name of model.certificates.keys()) stapler.follow(name, model.certificates.get(name)?.chain);
  }

  function end(): void {
    stapler?.stop();
    stapler = undefined;
    for (const name of state.staples.keys()) state.staples.set(name, undefined);
    onChange();
  }

  return {
    settled(pass) {
      const isOn = model.settings.get(SETTINGS)?.tls.stapling === true;
      if (isOn && stapler === undefined) start();
      else if (!isOn && stapler !== undefined) end();
      else if (stapler !== undefined) {
        for (const [name, certificate] of pass.of(model.certificates)) stapler.follow(name, certificate?.chain);
      }
    },
    stop: () => stapler?.stop(),
  };
}
