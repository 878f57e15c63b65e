package main

import (
	"context"
	"regexp"

	"cloud.google.com/go/kms/apiv1/kmspb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var versionName = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+/cryptoKeyVersions/[0-9]+$`)

// strict refuses what the service refuses and the emulator lets through. Each rule names its source:
// the reference of the Cloud KMS API (rpc and field comments), or its error documentation.
func strict(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	service, ok := info.Server.(kmspb.KeyManagementServiceServer)
	if !ok {
		return handler(ctx, request)
	}
	var err error
	switch typed := request.(type) {
	case *kmspb.AsymmetricSignRequest:
		err = checkSign(ctx, service, typed)
	case *kmspb.GetPublicKeyRequest:
		err = checkGetPublicKey(ctx, service, typed)
	case *kmspb.GetCryptoKeyVersionRequest:
		err = checkVersionName(typed.GetName())
	case *kmspb.DestroyCryptoKeyVersionRequest:
		err = checkDestroy(ctx, service, typed)
	case *kmspb.CreateCryptoKeyRequest:
		err = checkCreate(typed)
	}
	if err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// A name without a version, or a malformed one, is INVALID_ARGUMENT; the emulator says NOT_FOUND.
func checkVersionName(name string) error {
	if versionName.MatchString(name) {
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "%q is not the name of a CryptoKeyVersion", name)
}

// AsymmetricSignRequest: the digest must be of the algorithm of the key and of its length, and is given
// without data; the emulator signs anything.
func checkSign(ctx context.Context, service kmspb.KeyManagementServiceServer, request *kmspb.AsymmetricSignRequest) error {
	if err := checkVersionName(request.GetName()); err != nil {
		return err
	}
	if request.GetDigest() != nil && len(request.GetData()) > 0 {
		return status.Error(codes.InvalidArgument, "digest and data cannot both be given")
	}
	version, err := service.GetCryptoKeyVersion(ctx, &kmspb.GetCryptoKeyVersionRequest{Name: request.GetName()})
	if err != nil {
		return err
	}
	if version.GetAlgorithm() != kmspb.CryptoKeyVersion_EC_SIGN_P256_SHA256 {
		// Other algorithms are there to be refused by clients; what they accept does not matter here.
		if _, isSha256 := request.GetDigest().GetDigest().(*kmspb.Digest_Sha256); isSha256 && version.GetAlgorithm() == kmspb.CryptoKeyVersion_EC_SIGN_P384_SHA384 {
			return status.Error(codes.InvalidArgument, "the digest is not of the key's algorithm")
		}
		return nil
	}
	digest, isSha256 := request.GetDigest().GetDigest().(*kmspb.Digest_Sha256)
	if !isSha256 || len(digest.Sha256) != 32 {
		return status.Error(codes.InvalidArgument, "the digest is not a SHA-256 digest of 32 bytes")
	}
	return nil
}

// GetPublicKey: a version that is not ENABLED is FAILED_PRECONDITION; the emulator answers with the key.
func checkGetPublicKey(ctx context.Context, service kmspb.KeyManagementServiceServer, request *kmspb.GetPublicKeyRequest) error {
	if err := checkVersionName(request.GetName()); err != nil {
		return err
	}
	version, err := service.GetCryptoKeyVersion(ctx, &kmspb.GetCryptoKeyVersionRequest{Name: request.GetName()})
	if err != nil {
		return err
	}
	if version.GetState() != kmspb.CryptoKeyVersion_ENABLED {
		return status.Errorf(codes.FailedPrecondition, "%s is not enabled, current state is: %s.", request.GetName(), version.GetState())
	}
	return nil
}

// DestroyCryptoKeyVersion: only ENABLED and DISABLED versions can be scheduled for destruction.
func checkDestroy(ctx context.Context, service kmspb.KeyManagementServiceServer, request *kmspb.DestroyCryptoKeyVersionRequest) error {
	version, err := service.GetCryptoKeyVersion(ctx, &kmspb.GetCryptoKeyVersionRequest{Name: request.GetName()})
	if err != nil {
		return err
	}
	switch version.GetState() {
	case kmspb.CryptoKeyVersion_ENABLED, kmspb.CryptoKeyVersion_DISABLED:
		return nil
	default:
		return status.Errorf(codes.FailedPrecondition, "%s cannot be destroyed, current state is: %s.", request.GetName(), version.GetState())
	}
}

// CryptoKey.version_template.algorithm is required for ASYMMETRIC_SIGN.
func checkCreate(request *kmspb.CreateCryptoKeyRequest) error {
	key := request.GetCryptoKey()
	if key.GetPurpose() == kmspb.CryptoKey_ASYMMETRIC_SIGN &&
		key.GetVersionTemplate().GetAlgorithm() == kmspb.CryptoKeyVersion_CRYPTO_KEY_VERSION_ALGORITHM_UNSPECIFIED {
		return status.Error(codes.InvalidArgument, "version_template.algorithm is required")
	}
	return nil
}
