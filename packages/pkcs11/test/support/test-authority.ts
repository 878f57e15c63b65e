import { execFile } from "node:child_process";
import { X509Certificate, type KeyObject } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A certificate, and the file of its DER. */
export interface IssuedCertificate {
  readonly file: string;
  readonly x509: X509Certificate;
}

export interface TestAuthority extends AsyncDisposable {
  readonly root: IssuedCertificate;
  readonly issuing: IssuedCertificate;
  /** A certificate of the issuing authority for this key. */
  issue(name: string, key: KeyObject, days?: number): Promise<IssuedCertificate>;
}

/** A root and an authority below it, run by openssl. */
export async function createTestAuthority(): Promise<TestAuthority> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-authority-"));
  const path = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]): Promise<unknown> => run("openssl", [...args]);
  const newKey = (name: string): Promise<unknown> =>
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path(`${name}.key`));
  const issued = async (name: string): Promise<IssuedCertificate> => {
    const { stdout } = await run("openssl", ["x509", "-in", path(`${name}.pem`)]);
    const x509 = new X509Certificate(stdout);
    await writeFile(path(`${name}.der`), x509.raw);
    return { file: path(`${name}.der`), x509 };
  };
  const sign = (name: string, issuer: string, days: number, ...more: readonly string[]): Promise<unknown> => {
    const authority = ["-CA", path(`${issuer}.pem`), "-CAkey", path(`${issuer}.key`), "-CAcreateserial"];
    return openssl("x509", "-req", ...authority, "-days", String(days), "-out", path(`${name}.pem`), ...more);
  };
  const request = (name: string, key: string): Promise<unknown> =>
    openssl("req", "-new", "-key", path(`${key}.key`), "-subj", `/CN=${name}`, "-out", path(`${name}.csr`));

  await Promise.all(["root", "issuing", "placeholder"].map(newKey));
  await openssl("req", "-x509", "-key", path("root.key"), "-subj", "/CN=root", "-days", "90", "-out", path("root.pem"));
  await request("issuing", "issuing");
  await writeFile(path("ca.ext"), "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign");
  await sign("issuing", "root", 60, "-in", path("issuing.csr"), "-extfile", path("ca.ext"));
  const [root, issuing] = await Promise.all([issued("root"), issued("issuing")]);
  return {
    root,
    issuing,
    issue: async (name, key, days = 30) => {
      await writeFile(path(`${name}.pub`), key.export({ type: "spki", format: "pem" }));
      // The key of the token signs nothing here.
      await request(name, "placeholder");
      await sign(name, "issuing", days, "-in", path(`${name}.csr`), "-force_pubkey", path(`${name}.pub`));
      return issued(name);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
