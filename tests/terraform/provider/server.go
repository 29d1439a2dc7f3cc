package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server answers Terraform's plugin protocol. What is embedded answers nothing: functions, ephemeral resources, imports
// and moves are not used here, and a call of them would end the provider.
type server struct {
	tfprotov6.ProviderServer
	schemas *schemas
}

func (s *server) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	metadata := &tfprotov6.GetMetadataResponse{}
	for _, name := range sorted(s.schemas.resources) {
		metadata.Resources = append(metadata.Resources, tfprotov6.ResourceMetadata{TypeName: name})
	}
	for _, name := range sorted(s.schemas.data) {
		metadata.DataSources = append(metadata.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
	}
	return metadata, nil
}

func (s *server) GetProviderSchema(
	context.Context, *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:          s.schemas.provider,
		ResourceSchemas:   s.schemas.resources,
		DataSourceSchemas: s.schemas.data,
	}, nil
}

func (s *server) GetResourceIdentitySchemas(
	context.Context, *tfprotov6.GetResourceIdentitySchemasRequest,
) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *server) ValidateProviderConfig(
	_ context.Context, request *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: request.Config}, nil
}

func (s *server) ConfigureProvider(
	context.Context, *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *server) StopProvider(
	context.Context, *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *server) ValidateResourceConfig(
	context.Context, *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *server) ValidateDataResourceConfig(
	context.Context, *tfprotov6.ValidateDataResourceConfigRequest,
) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (s *server) UpgradeResourceState(
	_ context.Context, request *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	value, err := request.RawState.Unmarshal(s.schemas.resources[request.TypeName].ValueType())
	if err != nil {
		return nil, err
	}
	state, err := dynamic(value)
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: state}, err
}

// UpgradeResourceIdentity has nothing to do: there are no identities.
func (s *server) UpgradeResourceIdentity(
	_ context.Context, request *tfprotov6.UpgradeResourceIdentityRequest,
) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return nil, fmt.Errorf("%s has no identity", request.TypeName)
}

func (s *server) ReadResource(
	_ context.Context, request *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: request.CurrentState, Private: request.Private}, nil
}

func (s *server) PlanResourceChange(
	_ context.Context, request *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	schema := s.schemas.resources[request.TypeName]
	proposed, err := request.ProposedNewState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	prior, err := request.PriorState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	planned := proposed
	// What is there already keeps what it was given: Terraform has put it into the proposal.
	if prior.IsNull() {
		if planned, err = unknownWhereComputed(schema.Block, proposed); err != nil {
			return nil, err
		}
	}
	state, err := dynamic(planned)
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: state, PlannedPrivate: request.PriorPrivate}, err
}

func (s *server) ApplyResourceChange(
	_ context.Context, request *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	schema := s.schemas.resources[request.TypeName]
	planned, err := request.PlannedState.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	if !planned.IsNull() {
		if planned, err = madeUp(request.TypeName, schema.Block, planned); err != nil {
			return nil, err
		}
	}
	state, err := dynamic(planned)
	return &tfprotov6.ApplyResourceChangeResponse{NewState: state, Private: request.PlannedPrivate}, err
}

func (s *server) ReadDataSource(
	_ context.Context, request *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	schema := s.schemas.data[request.TypeName]
	value, err := request.Config.Unmarshal(schema.ValueType())
	if err != nil {
		return nil, err
	}
	if value, err = unknownWhereComputed(schema.Block, value); err != nil {
		return nil, err
	}
	if value, err = madeUp(request.TypeName, schema.Block, value); err != nil {
		return nil, err
	}
	state, err := dynamic(value)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

func dynamic(value tftypes.Value) (*tfprotov6.DynamicValue, error) {
	made, err := tfprotov6.NewDynamicValue(value.Type(), value)
	return &made, err
}
