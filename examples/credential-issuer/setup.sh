#!/bin/sh
# For development: a SoftHSM token with a key, a small CA, and the chain of the key.
# Usage: sh setup.sh FOLDER https://issuer.example
set -eu
umask 077
ISSUER=${2:?"usage: sh setup.sh FOLDER ISSUER"}
module=${MODULE:-/usr/lib/softhsm/libsofthsm2.so}
here=$(cd "$(dirname "$0")" && pwd)
# Before anything is made, so that it can run again.
[ -f "$here/dist/request.js" ] || { echo "First, in the root folder: npm run build -- examples/credential-issuer" >&2; exit 2; }
for tool in openssl softhsm2-util pkcs11-tool; do
  command -v "$tool" > /dev/null || { echo "$tool is missing: install OpenSSL 3, SoftHSM and OpenSC" >&2; exit 2; }
done
[ -f "$module" ] || { echo "$module does not exist: set MODULE to the path of SoftHSM's module" >&2; exit 2; }
[ ! -e "$1/tokens" ] || { echo "$1 has a token already: remove the folder, or name another one" >&2; exit 2; }
mkdir -p "$1/tokens"
cd "$1"
folder=$(pwd)

# The key. With a real HSM, use the vendor's tools.
printf 'directories.tokendir = %s/tokens\n' "$folder" > softhsm2.conf
printf '%s' "$(openssl rand -hex 8)" > pin
PIN=$(cat pin)
SOFTHSM2_CONF=$folder/softhsm2.conf
export PIN SOFTHSM2_CONF ISSUER
softhsm2-util --init-token --free --label issuer --so-pin "$(openssl rand -hex 8)" --pin "$PIN"
pkcs11-tool --module "$module" --token-label issuer --login --pin env:PIN \
  --keypairgen --key-type EC:prime256v1 --label sig --id 01 --usage-sign

# The request, signed by the key in the token.
KEY="pkcs11:token=issuer;object=sig?module-path=$module&pin-source=file:$folder/pin"
export KEY
node "$here/dist/request.js" > issuer.csr

# The CA: a root, and an authority below it that signs the request. Send yours the file issuer.csr in place of this.
cat > ca.cnf << 'END'
[req]
distinguished_name = name
prompt = no
[name]
CN = Example Root
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[authority]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[issuer]
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
new_key root.key
new_key authority.key
openssl req -new -x509 -config ca.cnf -extensions root -key root.key -days 3650 -out root.pem
openssl req -new -config ca.cnf -key authority.key -subj '/CN=Example Authority' -out authority.csr
openssl x509 -req -in authority.csr -CA root.pem -CAkey root.key -CAcreateserial -days 1825 \
  -extfile ca.cnf -extensions authority -out authority.pem
openssl x509 -req -in issuer.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 365 \
  -copy_extensions copy -extfile ca.cnf -extensions issuer -out issuer.pem

# The chain: the certificate of the key, and those that lead to the root, without the root.
cat issuer.pem authority.pem > chain.pem
cat > env << END
SOFTHSM2_CONF='$SOFTHSM2_CONF'
KEY='$KEY'
CHAIN='$folder/chain.pem'
ROOT='$folder/root.pem'
ISSUER='$ISSUER'
END
echo "Start the issuer: node --env-file=$folder/env dist/main.js"
