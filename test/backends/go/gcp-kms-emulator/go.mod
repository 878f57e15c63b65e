module signpost.test/gcp-kms-emulator

go 1.25.0

require (
	cloud.google.com/go/kms v1.27.0
	github.com/blackwell-systems/gcp-kms-emulator v0.8.1
	google.golang.org/grpc v1.79.3
)

require (
	cloud.google.com/go/iam v1.6.0 // indirect
	cloud.google.com/go/longrunning v0.8.0 // indirect
	github.com/blackwell-systems/gcp-emulator-auth v0.4.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.28.0 // indirect
	golang.org/x/net v0.52.0 // indirect
	golang.org/x/sys v0.42.0 // indirect
	golang.org/x/text v0.35.0 // indirect
	google.golang.org/genproto v0.0.0-20260319201613-d00831a3d3e7 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260401001100-f93e5f3e9f0f // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260319201613-d00831a3d3e7 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
