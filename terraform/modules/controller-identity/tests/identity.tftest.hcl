# What the operator may do, and how it comes to be its account.

mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email = "tpu-node-group@my-project.iam.gserviceaccount.com"
      name  = "projects/my-project/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com"
    }
  }

  mock_resource "google_project_iam_custom_role" {
    defaults = { name = "projects/my-project/roles/tpuNodeGroupOperator" }
  }

  mock_resource "google_iam_workload_identity_pool" {
    defaults = { name = "projects/123456789012/locations/global/workloadIdentityPools/tpu-node-group" }
  }

  mock_resource "google_iam_workload_identity_pool_provider" {
    defaults = { name = "projects/123456789012/locations/global/workloadIdentityPools/tpu-node-group/providers/cluster" }
  }
}

variables {
  project      = "my-project"
  subscription = "projects/events-project/subscriptions/tpu-node-group-events-default"
}

run "the_operator_takes_from_its_subscription_only" {
  assert {
    condition = [google_pubsub_subscription_iam_member.subscriber.project, google_pubsub_subscription_iam_member.subscriber.subscription, google_pubsub_subscription_iam_member.subscriber.role, google_pubsub_subscription_iam_member.subscriber.member] == [
      "events-project", "tpu-node-group-events-default", "roles/pubsub.subscriber", "serviceAccount:tpu-node-group@my-project.iam.gserviceaccount.com"
    ]
    error_message = "The operator must be a subscriber of its subscription, wherever that is."
  }
}

run "the_operator_writes_log_entries" {
  assert {
    condition     = google_service_account.operator.project == "my-project" && google_service_account.operator.account_id == "tpu-node-group"
    error_message = "The account must be in the project, and called tpu-node-group."
  }

  assert {
    condition     = [google_project_iam_member.log_writer.project, google_project_iam_member.log_writer.role, google_project_iam_member.log_writer.member] == ["my-project", "roles/logging.logWriter", "serviceAccount:tpu-node-group@my-project.iam.gserviceaccount.com"]
    error_message = "The operator must be a log writer of the project."
  }
}

run "the_operator_has_the_custom_role_and_the_role_is_the_file" {
  assert {
    condition     = [for role in google_project_iam_custom_role.operator : [role.project, role.role_id, sort(role.permissions)]] == [["my-project", "tpuNodeGroupOperator", sort(keys(jsondecode(file("permissions.json"))))]]
    error_message = "The custom role must hold the permissions of permissions.json, and no other."
  }

  assert {
    condition     = alltrue([for permission in google_project_iam_custom_role.operator["my-project"].permissions : can(regex("^compute[.][a-zA-Z]+[.][a-zA-Z]+$", permission))])
    error_message = "The custom role must have no wildcard."
  }

  assert {
    condition     = [for member in google_project_iam_member.operator : [member.project, member.role, member.member]] == [["my-project", "projects/my-project/roles/tpuNodeGroupOperator", "serviceAccount:tpu-node-group@my-project.iam.gserviceaccount.com"]]
    error_message = "The operator must have the custom role in the project."
  }
}

run "the_operator_may_be_nobody_unless_told" {
  assert {
    condition     = length(google_service_account_iam_member.act_as) == 0
    error_message = "The operator must not act as any account that was not named."
  }

  assert {
    condition     = length(google_service_account_key.operator) + length(google_iam_workload_identity_pool.cluster) + length(google_service_account_iam_member.federated) == 0 && output.credentials_config == null && output.audience == null && output.key == null
    error_message = "Without federation and key there must be neither."
  }
}

run "the_operator_attaches_the_nodes_account_only" {
  variables {
    node_service_accounts = { nodes = "projects/my-project/serviceAccounts/tpu-nodes@my-project.iam.gserviceaccount.com" }
  }

  assert {
    condition = [for member in google_service_account_iam_member.act_as : [member.service_account_id, member.role, member.member]] == [
      ["projects/my-project/serviceAccounts/tpu-nodes@my-project.iam.gserviceaccount.com", "roles/iam.serviceAccountUser", "serviceAccount:tpu-node-group@my-project.iam.gserviceaccount.com"]
    ]
    error_message = "The operator must act as the nodes' account, by a role on that account."
  }
}

run "in_several_projects_the_role_is_in_each_and_the_log_in_one" {
  variables {
    node_projects = ["node-project-1", "node-project-2"]
  }

  assert {
    condition     = sort([for role in google_project_iam_custom_role.operator : role.project]) == tolist(["node-project-1", "node-project-2"]) && sort([for member in google_project_iam_member.operator : member.project]) == tolist(["node-project-1", "node-project-2"])
    error_message = "The operator must have the role in each project with node groups."
  }

  assert {
    condition     = google_project_iam_member.log_writer.project == "my-project"
    error_message = "The operator must write its log in its own project."
  }
}

run "federation_lets_one_account_of_the_cluster_in" {
  variables {
    federation = { issuer = "https://cluster.example", jwks_json = "{\"keys\": []}" }
  }

  assert {
    condition     = google_iam_workload_identity_pool_provider.cluster[0].oidc[0].issuer_uri == "https://cluster.example" && google_iam_workload_identity_pool_provider.cluster[0].oidc[0].jwks_json == "{\"keys\": []}"
    error_message = "The provider must trust the cluster's issuer, by its keys."
  }

  assert {
    condition     = google_iam_workload_identity_pool.cluster[0].project == "my-project" && google_iam_workload_identity_pool_provider.cluster[0].project == "my-project"
    error_message = "Pool and provider must be in the operator's project."
  }

  assert {
    condition     = google_iam_workload_identity_pool_provider.cluster[0].attribute_mapping == tomap({ "google.subject" = "assertion.sub" }) && google_iam_workload_identity_pool_provider.cluster[0].attribute_condition == "assertion.sub == \"system:serviceaccount:tpu-node-group:tpu-node-group-controller\""
    error_message = "The provider must let in the operator's account of the cluster alone."
  }

  assert {
    condition = [for member in google_service_account_iam_member.federated : [member.service_account_id, member.role, member.member]] == [[
      "projects/my-project/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com",
      "roles/iam.workloadIdentityUser",
      "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/tpu-node-group/subject/system:serviceaccount:tpu-node-group:tpu-node-group-controller",
    ]]
    error_message = "The operator's account of the cluster must be allowed to be the service account."
  }

  assert {
    condition     = sort([for api in google_project_service.federation : api.service]) == tolist(["iamcredentials.googleapis.com", "sts.googleapis.com"]) && alltrue([for api in google_project_service.federation : api.disable_on_destroy == false && api.project == "my-project"])
    error_message = "The two APIs of federation must be enabled, and never disabled again."
  }

  assert {
    condition = jsondecode(output.credentials_config) == {
      type                              = "external_account"
      audience                          = "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/tpu-node-group/providers/cluster"
      subject_token_type                = "urn:ietf:params:oauth:token-type:jwt"
      token_url                         = "https://sts.googleapis.com/v1/token"
      service_account_impersonation_url = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com:generateAccessToken"
      credential_source                 = { file = "/var/run/secrets/google-cloud/token" }
    }
    error_message = "The credential configuration must say how the Pod's token becomes the account's."
  }

  assert {
    condition     = output.audience == "https://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/tpu-node-group/providers/cluster"
    error_message = "The audience of the Pod's token must be given out."
  }
}

run "a_key_is_made_when_asked_for" {
  variables {
    create_key = true
  }

  assert {
    condition     = google_service_account_key.operator[0].service_account_id == "projects/my-project/serviceAccounts/tpu-node-group@my-project.iam.gserviceaccount.com" && output.key == google_service_account_key.operator[0].private_key
    error_message = "There must be a key of the account, and it must be given out."
  }
}
