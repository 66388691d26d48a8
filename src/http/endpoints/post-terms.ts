/** `POST /v1/account/terms`: accepts the terms version that is required at present. */

import { z } from 'zod';
import { checked, json, type WalletEndpoint } from '../endpoint.ts';
import { text } from '../fields.ts';

const schema = z.object({ version: text });

export const postTerms: WalletEndpoint = {
  request: schema,
  readsBody: true,
  async handle({ services, wallet, body }) {
    const { version } = checked(schema, body);
    await services.engine.acceptTerms(wallet, version);
    services.wake();
    return json({ version, accepted: true });
  },
};
