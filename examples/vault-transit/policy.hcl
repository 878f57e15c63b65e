# All that the OP may do: sign with SHA-256, and read the public keys.
path "transit/sign/op/sha2-256" {
  capabilities = ["update"]
}
path "transit/keys/op" {
  capabilities = ["read"]
}
