/**
 * Binary layout of a script argument or reply: its fields in order, big-endian. A layout packs and unpacks records
 * here. It also gives the format for `struct.unpack` in the script, so both sides use one definition.
 */

import { generated } from './generate.ts';

export interface Field<T> {
  /** Format of the field for `struct` in Redis' Lua. */
  readonly format: string;
  /** Writes the value at `at`. Returns the position after it. */
  write(bytes: Buffer, at: number, value: T): number;
  /** Reads the value at `at`. */
  read(bytes: Buffer, at: number): T;
  /** Returns the number of bytes of the field at `at`. */
  sizeAt(bytes: Buffer, at: number): number;
}

type ValueOf<F> = F extends Field<infer T> ? T : never;

/** Type of the record that a layout packs and unpacks. */
export type RecordOf<L> = L extends Layout<infer F> ? { readonly [K in keyof F]: ValueOf<F[K]> } : never;

interface Layout<F extends Record<string, Field<unknown>>> {
  /** Formats of all fields together, without the byte order. */
  readonly format: string;
  /** Names of the fields, in the order of their bytes. */
  readonly names: readonly string[];
  readonly fields: F;
  pack(record: { readonly [K in keyof F]: ValueOf<F[K]> }): Buffer;
  /** Writes into `bytes`, which must be large enough. Returns the position after the record. */
  packInto(bytes: Buffer, at: number, record: { readonly [K in keyof F]: ValueOf<F[K]> }): number;
  unpack(bytes: Buffer, at?: number): { readonly [K in keyof F]: ValueOf<F[K]> };
  /** Returns the number of bytes of the record at `at`. */
  sizeAt(bytes: Buffer, at: number): number;
}

const TWO_TO_32 = 4_294_967_296;

const whole = (bytes: 1 | 2 | 4 | 6): Field<number> => ({
  format: `I${bytes}`,
  write: (buffer, at, value) => buffer.writeUIntBE(value, at, bytes),
  read: (buffer, at) => buffer.readUIntBE(at, bytes),
  sizeAt: () => bytes,
});

export const u8 = whole(1);
export const u16 = whole(2);
export const u32 = whole(4);
export const u48 = whole(6);

/** An amount of at most 2^53, exact as a double on both sides. */
export const u56: Field<number> = {
  format: 'I7',
  write(buffer, at, value) {
    buffer.writeUIntBE(Math.floor(value / TWO_TO_32), at, 3);
    return buffer.writeUInt32BE(value % TWO_TO_32, at + 3);
  },
  read: (buffer, at) => buffer.readUIntBE(at, 3) * TWO_TO_32 + buffer.readUInt32BE(at + 3),
  sizeAt: () => 7,
};

/** Exactly `length` bytes. */
export const bytesOf = (length: number): Field<Buffer> => ({
  format: `c${length}`,
  write: (buffer, at, value) => at + value.copy(buffer, at, 0, length),
  read: (buffer, at) => buffer.subarray(at, at + length),
  sizeAt: () => length,
});

/** Exactly `length` bytes, as lower-case hex digits. */
export const hexOf = (length: number): Field<string> => ({
  format: `c${length}`,
  write: (buffer, at, value) => at + buffer.write(value, at, length, 'hex'),
  read: (buffer, at) => buffer.toString('hex', at, at + length),
  sizeAt: () => length,
});

const counted = (bytes: 1 | 2): Field<string> => ({
  format: `I${bytes}c0`,
  write(buffer, at, value) {
    const length = buffer.write(value, at + bytes);
    buffer.writeUIntBE(length, at, bytes);
    return at + bytes + length;
  },
  read: (buffer, at) => buffer.toString('utf8', at + bytes, at + bytes + buffer.readUIntBE(at, bytes)),
  sizeAt: (buffer, at) => bytes + buffer.readUIntBE(at, bytes),
});

/** UTF-8 text of at most 255 bytes, after its length. */
export const text8 = counted(1);
/** UTF-8 text of at most 65,535 bytes, after its length. */
export const text16 = counted(2);

/** A field whose values are not those of its bytes. */
export const mapped = <Raw, T>(
  field: Field<Raw>,
  pack: (value: T) => Raw,
  unpack: (raw: Raw) => T,
): Field<T> => ({
  format: field.format,
  write: (bytes, at, value) => field.write(bytes, at, pack(value)),
  read: (bytes, at) => unpack(field.read(bytes, at)),
  sizeAt: field.sizeAt,
});

/** Code of a value, its index in the list. */
export const codeOf = <const T>(values: readonly T[]): Field<T> =>
  mapped(
    u8,
    (value) => values.indexOf(value),
    (code) => values[code]!,
  );

/** At most 255 bytes, after their number. */
export const bytes8: Field<Buffer> = {
  format: 'I1c0',
  write: (buffer, at, value) => buffer.writeUInt8(value.length, at) + value.copy(buffer, at + 1),
  read: (buffer, at) => buffer.subarray(at + 1, at + 1 + buffer.readUInt8(at)),
  sizeAt: (buffer, at) => 1 + buffer.readUInt8(at),
};

/** At most 65,535 bytes, after their number. */
export const bytes16: Field<Buffer> = {
  format: 'I2c0',
  write: (buffer, at, value) => buffer.writeUInt16BE(value.length, at) + value.copy(buffer, at + 2),
  read: (buffer, at) => buffer.subarray(at + 2, at + 2 + buffer.readUInt16BE(at)),
  sizeAt: (buffer, at) => 2 + buffer.readUInt16BE(at),
};

/** Buffer larger than any record. Each record is copied out of it at once. */
const scratch = Buffer.allocUnsafe(128 * 1024);

const constantOf = (name: string): string => `${name}Value`;

/** Code of the functions of a layout. */
const codeOfLayout = (names: readonly string[]) => (): string =>
  `({ ${names.join(', ')} }) => ({
  packInto(bytes: any, start: any, record: any) {
    let at = start;
${names.map((name) => `    at = ${name}.write(bytes, at, record.${name});\n`).join('')}    return at;
  },
  unpack(bytes: any, start: any) {
    let at = start;
${names.map((name) => `    const ${constantOf(name)} = ${name}.read(bytes, at);\n    at += ${name}.sizeAt(bytes, at);\n`).join('')}    return {
${names.map((name) => `      ${name}: ${constantOf(name)},\n`).join('')}    };
  },
})`;

/** Functions of a layout that has no generated ones: they loop over the fields. */
const looped = (entries: readonly (readonly [string, Field<unknown>])[]) => ({
  packInto(bytes: Buffer, start: number, record: Readonly<Record<string, unknown>>): number {
    let at = start;
    for (const [name, field] of entries) at = field.write(bytes, at, record[name]);
    return at;
  },
  unpack(bytes: Buffer, start: number) {
    const record: Record<string, unknown> = {};
    let at = start;
    for (const [name, field] of entries) {
      record[name] = field.read(bytes, at);
      at += field.sizeAt(bytes, at);
    }
    return record;
  },
});

/** @param name of its generated code; a layout without one is slower */
export function layout<const F extends Record<string, Field<unknown>>>(fields: F, name?: string): Layout<F> {
  const names = Object.keys(fields);
  const types: Field<unknown>[] = Object.values(fields);
  const made = name === undefined ? undefined : generated(name, codeOfLayout(names), fields);
  const { packInto, unpack } = (made ?? looped(Object.entries(fields))) as Pick<Layout<F>, 'packInto'> & {
    unpack(bytes: Buffer, at: number): { readonly [K in keyof F]: ValueOf<F[K]> };
  };
  return {
    format: types.map(({ format }) => format).join(''),
    names,
    fields,
    packInto,
    pack: (record) => Buffer.from(scratch.subarray(0, packInto(scratch, 0, record))),
    unpack: (bytes, at = 0) => unpack(bytes, at),
    sizeAt(bytes, at) {
      let offset = at;
      for (const type of types) offset += type.sizeAt(bytes, offset);
      return offset - at;
    },
  };
}
