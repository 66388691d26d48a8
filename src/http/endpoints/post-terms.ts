/** `POST /v1/account/terms`: accepts the terms version that is required at present. */

import { checked, json, type WalletEndpoint } from '../endpoint.ts';
import { body, text } from '../fields.ts';

const schema = body({ version: text });

export const postTerms: WalletEndpoint = {
  readsBody: true,
  async handle({ services, wallet, body }) {
    const { version } = checked(schema, body);
    await services.engine.acceptTerms(wallet, version);
    services.wake();
    return json({ version, accepted: true });
  },
};
