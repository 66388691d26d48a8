/**
 * Makes a self-signed certificate for 127.0.0.1 and a name. It is generated because openssl is not installed
 * everywhere and a stored certificate would expire. Node creates the key and the signature; this file writes the
 * structure around them (X.509 in DER).
 */

import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_TEXT = 0x0c;
const UTC_TIME = 0x17;
/** Tag of a structure field that is numbered instead of typed and contains other fields. */
const numbered = (number: number): number => 0xa0 + number;

const DAY_MS = 86_400_000;

function der(type: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const length = body.length < 256 ? [body.length] : [body.length >> 8, body.length & 255];
  const prefix = body.length < 128 ? [] : [0x80 + length.length];
  return Buffer.concat([Buffer.from([type, ...prefix, ...length]), body]);
}

/** The first two numbers share a byte. No number used here needs more than two bytes. */
function objectId(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number) as [number, number, ...number[]];
  const bytes = rest.flatMap((part) => {
    const groups = [part & 127];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 127) | 128);
    return groups;
  });
  return der(OBJECT_ID, Buffer.from([first * 40 + second, ...bytes]));
}

/** `YYMMDDhhmmssZ`. */
const time = (date: Date): Buffer =>
  der(UTC_TIME, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));

export interface Certificate {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
}

/** Valid from yesterday to tomorrow. */
export function makeCertificate(host = 'localhost'): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(SEQUENCE, objectId('1.2.840.10045.4.3.2'));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, objectId('2.5.4.3'), der(UTF8_TEXT, Buffer.from('redis')))),
  );
  const names = der(SEQUENCE, der(0x82, Buffer.from(host)), der(0x87, Buffer.from([127, 0, 0, 1])));
  const alternativeNames = der(SEQUENCE, objectId('2.5.29.17'), der(OCTET_STRING, names));
  const said = der(
    SEQUENCE,
    der(numbered(0), der(INTEGER, Buffer.from([2]))), // the third version counts as 2
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    der(SEQUENCE, time(new Date(Date.now() - DAY_MS)), time(new Date(Date.now() + DAY_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(numbered(3), der(SEQUENCE, alternativeNames)),
  );
  const signature = createSign('sha256').update(said).sign(privateKey);
  const noBitsLeft = Buffer.from([0]);
  const whole = der(SEQUENCE, said, ecdsaWithSha256, der(BIT_STRING, noBitsLeft, signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}
