# Who may publish where, what never expires, where dead letters go, and what the sink takes. Nothing real is made.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }

  mock_resource "google_logging_project_sink" {
    defaults = { writer_identity = "serviceAccount:project-sink@gcp-sa-logging.iam.gserviceaccount.com" }
  }

  mock_resource "google_logging_folder_sink" {
    defaults = { writer_identity = "serviceAccount:folder-sink@gcp-sa-logging.iam.gserviceaccount.com" }
  }

  mock_resource "google_logging_organization_sink" {
    defaults = { writer_identity = "serviceAccount:organization-sink@gcp-sa-logging.iam.gserviceaccount.com" }
  }

  override_resource {
    target = google_pubsub_topic.events
    values = { id = "projects/my-project/topics/tpu-node-group-events" }
  }

  override_resource {
    target = google_pubsub_topic.dead_letters
    values = { id = "projects/my-project/topics/tpu-node-group-events-dead-letter" }
  }
}

variables {
  project = "my-project"
}

run "everything_is_in_the_project" {
  variables {
    probe = true
  }

  assert {
    condition = alltrue([for made in concat(
      [google_pubsub_topic.events, google_pubsub_topic.dead_letters, google_pubsub_subscription.dead_letters],
      values(google_pubsub_subscription.cluster), google_pubsub_subscription.probe[*],
    ) : made.project == "my-project"])
    error_message = "Topics and subscriptions must be in the project."
  }
}

run "the_sink_publishes_to_the_topic_and_its_writer_may" {
  assert {
    condition     = google_logging_project_sink.events[0].project == "my-project" && google_logging_project_sink.events[0].destination == "pubsub.googleapis.com/projects/my-project/topics/tpu-node-group-events"
    error_message = "The sink of the project must publish to the events' topic."
  }

  assert {
    condition     = google_logging_project_sink.events[0].unique_writer_identity == true && google_logging_project_sink.events[0].disabled != true
    error_message = "The sink must have a writer of its own and be enabled."
  }

  assert {
    condition = [google_pubsub_topic_iam_member.writer.project, google_pubsub_topic_iam_member.writer.topic, google_pubsub_topic_iam_member.writer.role, google_pubsub_topic_iam_member.writer.member] == [
      "my-project", google_pubsub_topic.events.name, "roles/pubsub.publisher", "serviceAccount:project-sink@gcp-sa-logging.iam.gserviceaccount.com"
    ]
    error_message = "The sink's writer must be a publisher of the events' topic."
  }

  assert {
    condition     = length(google_logging_folder_sink.events) + length(google_logging_organization_sink.events) == 0
    error_message = "There must be one sink, of the project."
  }
}

run "the_clusters_subscription_takes_from_the_topic_and_never_expires" {
  assert {
    condition     = keys(google_pubsub_subscription.cluster) == ["default"] && google_pubsub_subscription.cluster["default"].topic == google_pubsub_topic.events.id
    error_message = "The cluster's subscription must be of the events' topic."
  }

  assert {
    condition     = google_pubsub_subscription.cluster["default"].expiration_policy[0].ttl == ""
    error_message = "The cluster's subscription must never expire."
  }

  assert {
    condition     = google_pubsub_subscription.cluster["default"].retry_policy[0].minimum_backoff == "1s" && google_pubsub_subscription.cluster["default"].retry_policy[0].maximum_backoff == "60s"
    error_message = "A refused message must come again after 1 s at first, and after 60 s at last."
  }

  assert {
    condition     = google_pubsub_subscription.cluster["default"].ack_deadline_seconds == 60 && google_pubsub_subscription.cluster["default"].message_retention_duration == "86400s"
    error_message = "Messages must wait a minute for their acknowledgement and a day for an operator."
  }

  assert {
    condition     = coalesce(google_pubsub_subscription.cluster["default"].filter, "none") == "none" && google_pubsub_subscription.cluster["default"].enable_message_ordering != true && google_pubsub_subscription.cluster["default"].enable_exactly_once_delivery != true
    error_message = "The subscription must not filter (the sink does), and needs neither order nor exactly-once delivery."
  }
}

run "dead_letters_go_to_a_topic_that_keeps_them_and_pubsub_may_move_them" {
  assert {
    condition     = google_pubsub_subscription.cluster["default"].dead_letter_policy[0].dead_letter_topic == google_pubsub_topic.dead_letters.id && google_pubsub_subscription.cluster["default"].dead_letter_policy[0].max_delivery_attempts == 5
    error_message = "After 5 deliveries a message must go to the dead letters' topic."
  }

  assert {
    condition     = google_pubsub_subscription.dead_letters.topic == google_pubsub_topic.dead_letters.id
    error_message = "The dead letters' topic must have a subscription, or they are lost."
  }

  assert {
    condition     = google_pubsub_subscription.dead_letters.expiration_policy[0].ttl == "" && google_pubsub_subscription.dead_letters.message_retention_duration == "604800s"
    error_message = "The dead letters' subscription must never expire, and keep them for 7 days."
  }

  assert {
    condition = [google_pubsub_topic_iam_member.dead_letter_publisher.project, google_pubsub_topic_iam_member.dead_letter_publisher.topic, google_pubsub_topic_iam_member.dead_letter_publisher.role, google_pubsub_topic_iam_member.dead_letter_publisher.member] == [
      "my-project", google_pubsub_topic.dead_letters.name, "roles/pubsub.publisher", "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"
    ]
    error_message = "Pub/Sub's service agent must be a publisher of the dead letters' topic."
  }

  assert {
    condition = [for member in google_pubsub_subscription_iam_member.dead_letter_subscriber : [member.project, member.subscription, member.role, member.member]] == [
      ["my-project", google_pubsub_subscription.cluster["default"].name, "roles/pubsub.subscriber", "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"]
    ]
    error_message = "Pub/Sub's service agent must be a subscriber of the cluster's subscription."
  }
}

run "the_apis_are_enabled_and_never_disabled_again" {
  assert {
    condition     = sort([for api in google_project_service.needed : api.service]) == tolist(["cloudresourcemanager.googleapis.com", "compute.googleapis.com", "iam.googleapis.com", "logging.googleapis.com", "pubsub.googleapis.com"])
    error_message = "The five APIs that the operator needs must be enabled."
  }

  assert {
    condition     = alltrue([for api in google_project_service.needed : api.disable_on_destroy == false && api.project == "my-project"])
    error_message = "An API must stay enabled when the pipeline goes: others may need it."
  }
}

run "no_key_no_regions_and_no_probe_unless_asked_for" {
  assert {
    condition     = google_pubsub_topic.events.kms_key_name == null && length(google_kms_crypto_key_iam_member.pubsub) == 0 && length(google_pubsub_topic.events.message_storage_policy) == 0
    error_message = "Topics must have Google's own keys and no regions of their own."
  }

  assert {
    condition     = length(google_pubsub_subscription.probe) == 0 && output.probe_subscription == null
    error_message = "There must be no probe's subscription."
  }
}

run "the_outputs_are_the_operators_settings" {
  assert {
    condition = output.settings == { default = {
      cluster_name = "default"
      project      = "my-project"
      subscription = "projects/my-project/subscriptions/tpu-node-group-events-default"
    } }
    error_message = "The settings must name the cluster, the project and the subscription."
  }

  assert {
    condition     = output.subscriptions == { default = "projects/my-project/subscriptions/tpu-node-group-events-default" } && output.topic == "projects/my-project/topics/tpu-node-group-events"
    error_message = "Subscriptions and topic must be given out by their full names."
  }

  assert {
    condition     = output.dead_letter_subscription == "tpu-node-group-events-dead-letter" && output.sink == google_logging_project_sink.events[0].name && output.filter == google_logging_project_sink.events[0].filter && output.writer_identity == google_logging_project_sink.events[0].writer_identity
    error_message = "The dead letters' subscription, the sink, its filter and its writer must be given out."
  }
}

run "a_folders_sink_takes_its_projects_and_its_writer_may_publish" {
  variables {
    folder = "222"
  }

  assert {
    condition     = google_logging_folder_sink.events[0].folder == "222" && google_logging_folder_sink.events[0].include_children == true && google_logging_folder_sink.events[0].intercept_children != true
    error_message = "The folder's sink must take what the folder's projects write, and leave it to their own sinks too."
  }

  assert {
    condition     = google_logging_folder_sink.events[0].destination == "pubsub.googleapis.com/${google_pubsub_topic.events.id}" && google_logging_folder_sink.events[0].filter == output.filter
    error_message = "The folder's sink must publish to the events' topic, by the filter."
  }

  assert {
    condition     = google_pubsub_topic_iam_member.writer.member == "serviceAccount:folder-sink@gcp-sa-logging.iam.gserviceaccount.com" && length(google_logging_project_sink.events) + length(google_logging_organization_sink.events) == 0
    error_message = "The folder's sink must be the only one, and its writer the publisher."
  }
}

run "an_organizations_sink_takes_its_projects_and_its_writer_may_publish" {
  variables {
    organization = "333"
  }

  assert {
    condition     = google_logging_organization_sink.events[0].org_id == "333" && google_logging_organization_sink.events[0].include_children == true && google_logging_organization_sink.events[0].intercept_children != true
    error_message = "The organization's sink must take what its projects write, and leave it to their own sinks too."
  }

  assert {
    condition     = google_logging_organization_sink.events[0].destination == "pubsub.googleapis.com/${google_pubsub_topic.events.id}" && google_logging_organization_sink.events[0].filter == output.filter
    error_message = "The organization's sink must publish to the events' topic, by the filter."
  }

  assert {
    condition     = google_pubsub_topic_iam_member.writer.member == "serviceAccount:organization-sink@gcp-sa-logging.iam.gserviceaccount.com" && length(google_logging_project_sink.events) + length(google_logging_folder_sink.events) == 0
    error_message = "The organization's sink must be the only one, and its writer the publisher."
  }
}

run "each_cluster_has_its_own_subscription_and_pubsub_may_move_its_dead_letters" {
  variables {
    clusters = ["blue", "green"]
  }

  assert {
    condition     = { for cluster, made in google_pubsub_subscription.cluster : cluster => [made.name, made.topic] } == { for cluster in ["blue", "green"] : cluster => ["tpu-node-group-events-${cluster}", google_pubsub_topic.events.id] }
    error_message = "Each cluster must have a subscription of the events' topic."
  }

  assert {
    condition     = { for cluster, member in google_pubsub_subscription_iam_member.dead_letter_subscriber : cluster => member.subscription } == { blue = "tpu-node-group-events-blue", green = "tpu-node-group-events-green" }
    error_message = "Pub/Sub's service agent must be a subscriber of each cluster's subscription."
  }

  assert {
    condition     = keys(output.settings) == ["blue", "green"] && output.settings["green"].cluster_name == "green" && output.settings["green"].subscription == output.subscriptions["green"]
    error_message = "Each cluster must have settings of its own."
  }
}

run "a_key_of_ones_own_is_one_that_pubsub_may_use" {
  variables {
    kms_key_name    = "projects/p/locations/us/keyRings/r/cryptoKeys/k"
    storage_regions = ["us-central1", "us-east5"]
  }

  assert {
    condition     = google_pubsub_topic.events.kms_key_name == "projects/p/locations/us/keyRings/r/cryptoKeys/k" && google_pubsub_topic.dead_letters.kms_key_name == "projects/p/locations/us/keyRings/r/cryptoKeys/k"
    error_message = "Both topics must be encrypted with the key."
  }

  assert {
    condition = [for member in google_kms_crypto_key_iam_member.pubsub : [member.crypto_key_id, member.role, member.member]] == [
      ["projects/p/locations/us/keyRings/r/cryptoKeys/k", "roles/cloudkms.cryptoKeyEncrypterDecrypter", "serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com"]
    ]
    error_message = "Pub/Sub's service agent must be allowed to use the key."
  }

  assert {
    condition     = alltrue([for topic in [google_pubsub_topic.events, google_pubsub_topic.dead_letters] : sort(topic.message_storage_policy[0].allowed_persistence_regions) == tolist(["us-central1", "us-east5"])])
    error_message = "Messages of both topics must stay in the regions."
  }
}

run "the_probe_has_a_subscription_of_its_own" {
  variables {
    probe         = true
    probe_members = ["user:jo@example.com"]
  }

  assert {
    condition     = google_pubsub_subscription.probe[0].topic == google_pubsub_topic.events.id && google_pubsub_subscription.probe[0].expiration_policy[0].ttl == "" && google_pubsub_subscription.probe[0].message_retention_duration == "600s"
    error_message = "The probe's subscription must be of the events' topic, never expire, and keep messages for 10 minutes."
  }

  assert {
    condition     = { for who, member in google_pubsub_subscription_iam_member.probe : who => [member.project, member.subscription, member.role, member.member] } == { "user:jo@example.com" = ["my-project", "tpu-node-group-events-probe", "roles/pubsub.subscriber", "user:jo@example.com"] }
    error_message = "Who probes must be a subscriber of the probe's subscription alone."
  }

  assert {
    condition     = output.probe_subscription == "projects/my-project/subscriptions/tpu-node-group-events-probe"
    error_message = "The probe's subscription must be given out."
  }
}

run "the_filter_can_be_narrowed_to_zones_and_names" {
  variables {
    zones        = ["us-central1-c", "us-central1-a", "us-east5-b"]
    name_pattern = "train-|eval-"
  }

  assert {
    condition     = strcontains(output.filter, "/(zones/(us-central1-a|us-central1-c|us-east5-b)/(instances|instanceGroupManagers)|(global|regions/(us-central1|us-east5))/(instanceTemplates|resourcePolicies))/(train-|eval-)\"")
    error_message = "The filter must take resources of the zones, of their regions, and of the names alone."
  }

  assert {
    condition     = strcontains(output.filter, "resource.labels.zone=~\"^(us-central1-a|us-central1-c|us-east5-b)$\"") && strcontains(output.filter, "jsonPayload.instance=~\"^(train-|eval-)\"")
    error_message = "The filter must take what VMs of the zones and names write alone."
  }
}
