// The parts of a certificate in DER.

export function pemOf(certificate: Uint8Array): string {
  const lines = Buffer.from(certificate)
    .toString("base64")
    .replaceAll(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

export function commonName(name: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))));
}

export function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content;
  const bytes = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...bytes), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

export function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

/** YYMMDDHHMMSSZ, in UTC. */
export function utcTime(time: number): Buffer {
  const digits = new Date(time).toISOString().replaceAll(/[-:T]/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}
