package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

//go:embed schema.json
var document []byte

// schemas are those of schema.json, which has the form of `terraform providers schema -json`.
type schemas struct {
	provider  *tfprotov6.Schema
	resources map[string]*tfprotov6.Schema
	data      map[string]*tfprotov6.Schema
}

type jsonSchema struct {
	Version int64     `json:"version"`
	Block   jsonBlock `json:"block"`
}

type jsonBlock struct {
	Attributes map[string]jsonAttribute   `json:"attributes"`
	BlockTypes map[string]jsonNestedBlock `json:"block_types"`
}

type jsonAttribute struct {
	Type      json.RawMessage `json:"type"`
	Required  bool            `json:"required"`
	Optional  bool            `json:"optional"`
	Computed  bool            `json:"computed"`
	Sensitive bool            `json:"sensitive"`
	WriteOnly bool            `json:"write_only"`
}

type jsonNestedBlock struct {
	NestingMode string    `json:"nesting_mode"`
	Block       jsonBlock `json:"block"`
	MinItems    int64     `json:"min_items"`
	MaxItems    int64     `json:"max_items"`
}

var nestings = map[string]tfprotov6.SchemaNestedBlockNestingMode{
	"single": tfprotov6.SchemaNestedBlockNestingModeSingle,
	"list":   tfprotov6.SchemaNestedBlockNestingModeList,
	"set":    tfprotov6.SchemaNestedBlockNestingModeSet,
	"map":    tfprotov6.SchemaNestedBlockNestingModeMap,
}

func loadSchemas() (*schemas, error) {
	var read struct {
		Provider  jsonSchema            `json:"provider_schema"`
		Resources map[string]jsonSchema `json:"resource_schemas"`
		Data      map[string]jsonSchema `json:"data_source_schemas"`
	}
	if err := json.Unmarshal(document, &read); err != nil {
		return nil, fmt.Errorf("schema.json: %w", err)
	}
	provider, err := schemaOf(read.Provider)
	if err != nil {
		return nil, err
	}
	resources, err := schemasOf(read.Resources)
	if err != nil {
		return nil, err
	}
	data, err := schemasOf(read.Data)
	return &schemas{provider, resources, data}, err
}

func schemasOf(read map[string]jsonSchema) (map[string]*tfprotov6.Schema, error) {
	made := map[string]*tfprotov6.Schema{}
	for name, each := range read {
		schema, err := schemaOf(each)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made[name] = schema
	}
	return made, nil
}

func schemaOf(read jsonSchema) (*tfprotov6.Schema, error) {
	block, err := blockOf(read.Block)
	return &tfprotov6.Schema{Version: read.Version, Block: block}, err
}

func blockOf(read jsonBlock) (*tfprotov6.SchemaBlock, error) {
	block := &tfprotov6.SchemaBlock{}
	for _, name := range sorted(read.Attributes) {
		attribute := read.Attributes[name]
		kind, err := tftypes.ParseJSONType(attribute.Type) //nolint:staticcheck // the form that Terraform itself writes
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		block.Attributes = append(block.Attributes, &tfprotov6.SchemaAttribute{
			Name: name, Type: kind, Required: attribute.Required, Optional: attribute.Optional,
			Computed: attribute.Computed, Sensitive: attribute.Sensitive, WriteOnly: attribute.WriteOnly,
		})
	}
	for _, name := range sorted(read.BlockTypes) {
		nested := read.BlockTypes[name]
		inner, err := blockOf(nested.Block)
		if err != nil {
			return nil, fmt.Errorf("%s.%w", name, err)
		}
		mode, known := nestings[nested.NestingMode]
		if !known {
			return nil, fmt.Errorf("%s: nesting mode %q", name, nested.NestingMode)
		}
		block.BlockTypes = append(block.BlockTypes, &tfprotov6.SchemaNestedBlock{
			TypeName: name, Block: inner, Nesting: mode, MinItems: nested.MinItems, MaxItems: nested.MaxItems,
		})
	}
	return block, nil
}

func sorted[V any](from map[string]V) []string {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
