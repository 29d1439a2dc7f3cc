package main

import (
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const projectNumber = "123456789012"

// unknownWhereComputed makes what the provider would fill in unknown, as far as nothing is known of it yet.
func unknownWhereComputed(block *tfprotov6.SchemaBlock, value tftypes.Value) (tftypes.Value, error) {
	return edit(block, value, func(attribute *tfprotov6.SchemaAttribute, old tftypes.Value) tftypes.Value {
		if attribute.Computed && old.IsNull() {
			return tftypes.NewValue(attribute.Type, tftypes.UnknownValue)
		}
		return old
	})
}

// madeUp gives every unknown value one, by the forms that Google Cloud has for them. Other than strings become null.
func madeUp(kind string, block *tfprotov6.SchemaBlock, value tftypes.Value) (tftypes.Value, error) {
	known := map[string]tftypes.Value{}
	if err := value.As(&known); err != nil {
		return value, err
	}
	return edit(block, value, func(attribute *tfprotov6.SchemaAttribute, old tftypes.Value) tftypes.Value {
		if old.IsFullyKnown() {
			return old
		}
		if !attribute.Type.Is(tftypes.String) {
			return tftypes.NewValue(attribute.Type, nil)
		}
		return tftypes.NewValue(tftypes.String, text(kind, attribute.Name, known))
	})
}

// text is the value of a computed attribute of a resource or data source, given the others.
func text(kind, attribute string, known map[string]tftypes.Value) string {
	of := func(name string) string {
		var found string
		if value, there := known[name]; there && value.IsKnown() && !value.IsNull() {
			_ = value.As(&found)
		}
		return found
	}
	project := of("project")
	email := fmt.Sprintf("%s@%s.iam.gserviceaccount.com", of("account_id"), project)
	switch kind + "." + attribute {
	case "google_project.number":
		return projectNumber
	case "google_pubsub_topic.id":
		return fmt.Sprintf("projects/%s/topics/%s", project, of("name"))
	case "google_pubsub_subscription.id":
		return fmt.Sprintf("projects/%s/subscriptions/%s", project, of("name"))
	case "google_logging_project_sink.writer_identity":
		return "serviceAccount:service-" + projectNumber + "@gcp-sa-logging.iam.gserviceaccount.com"
	case "google_logging_folder_sink.writer_identity":
		return "serviceAccount:service-folder-" + of("folder") + "@gcp-sa-logging.iam.gserviceaccount.com"
	case "google_logging_organization_sink.writer_identity":
		return "serviceAccount:service-org-" + of("org_id") + "@gcp-sa-logging.iam.gserviceaccount.com"
	case "google_service_account.email":
		return email
	case "google_service_account.member":
		return "serviceAccount:" + email
	case "google_service_account.name":
		return fmt.Sprintf("projects/%s/serviceAccounts/%s", project, email)
	case "google_project_iam_custom_role.name":
		return fmt.Sprintf("projects/%s/roles/%s", project, of("role_id"))
	case "google_iam_workload_identity_pool.name":
		pool := of("workload_identity_pool_id")
		return fmt.Sprintf("projects/%s/locations/global/workloadIdentityPools/%s", projectNumber, pool)
	}
	distinct := crc32.ChecksumIEEE([]byte(strings.Join([]string{kind, attribute, project, of("name")}, "/")))
	return fmt.Sprintf("%s-%08x", attribute, distinct)
}

// edit applies a change to every attribute of a block and of those in it. Null and unknown blocks stay.
func edit(
	block *tfprotov6.SchemaBlock, value tftypes.Value,
	change func(*tfprotov6.SchemaAttribute, tftypes.Value) tftypes.Value,
) (tftypes.Value, error) {
	if value.IsNull() || !value.IsKnown() {
		return value, nil
	}
	members := map[string]tftypes.Value{}
	if err := value.As(&members); err != nil {
		return value, err
	}
	for _, attribute := range block.Attributes {
		members[attribute.Name] = change(attribute, members[attribute.Name])
	}
	for _, nested := range block.BlockTypes {
		edited, err := editNested(nested, members[nested.TypeName], change)
		if err != nil {
			return value, err
		}
		members[nested.TypeName] = edited
	}
	return tftypes.NewValue(value.Type(), members), nil
}

func editNested(
	nested *tfprotov6.SchemaNestedBlock, value tftypes.Value,
	change func(*tfprotov6.SchemaAttribute, tftypes.Value) tftypes.Value,
) (tftypes.Value, error) {
	if nested.Nesting == tfprotov6.SchemaNestedBlockNestingModeSingle {
		return edit(nested.Block, value, change)
	}
	if value.IsNull() || !value.IsKnown() {
		return value, nil
	}
	var items []tftypes.Value
	if err := value.As(&items); err != nil {
		return value, err
	}
	for at, item := range items {
		edited, err := edit(nested.Block, item, change)
		if err != nil {
			return value, err
		}
		items[at] = edited
	}
	return tftypes.NewValue(value.Type(), items), nil
}
