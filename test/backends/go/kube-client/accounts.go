package main

import (
	"context"
	"errors"

	admission "k8s.io/api/admissionregistration/v1"
	core "k8s.io/api/core/v1"
)

// The id of every account.
const uid = "5d2c5c3e-3a3c-4a8e-9a52-6e0e3d3b7f10"

// accounts is a cluster in which every ServiceAccount exists, and nothing else.
type accounts struct{}

var errNone = errors.New("there is none")

func (accounts) GetServiceAccount(_ context.Context, namespace, name string) (*core.ServiceAccount, error) {
	account := &core.ServiceAccount{}
	account.Namespace, account.Name, account.UID = namespace, name, uid
	return account, nil
}

func (accounts) GetPod(context.Context, string, string) (*core.Pod, error)       { return nil, errNone }
func (accounts) GetSecret(context.Context, string, string) (*core.Secret, error) { return nil, errNone }
func (accounts) GetNode(context.Context, string) (*core.Node, error)             { return nil, errNone }

func (accounts) GetValidatingWebhookConfiguration(context.Context, string) (*admission.ValidatingWebhookConfiguration, error) {
	return nil, errNone
}

func (accounts) GetMutatingWebhookConfiguration(context.Context, string) (*admission.MutatingWebhookConfiguration, error) {
	return nil, errNone
}
