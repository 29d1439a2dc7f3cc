# The sink, at one of three levels. One that takes a whole folder or organization sees what its projects write.

resource "google_logging_project_sink" "events" {
  count = var.folder == null && var.organization == null ? 1 : 0

  project     = var.project
  name        = var.name
  description = "What the TPU node group operator reacts to, for its topic."
  destination = "pubsub.googleapis.com/${google_pubsub_topic.events.id}"
  filter      = local.filter
  # With the shared writer, whoever may write to any sink could publish here.
  unique_writer_identity = true

  depends_on = [google_project_service.needed]
}

resource "google_logging_folder_sink" "events" {
  count = var.folder == null ? 0 : 1

  folder           = var.folder
  name             = var.name
  description      = "What the TPU node group operator reacts to, for its topic."
  destination      = "pubsub.googleapis.com/${google_pubsub_topic.events.id}"
  filter           = local.filter
  include_children = true

  depends_on = [google_project_service.needed]
}

resource "google_logging_organization_sink" "events" {
  count = var.organization == null ? 0 : 1

  org_id           = var.organization
  name             = var.name
  description      = "What the TPU node group operator reacts to, for its topic."
  destination      = "pubsub.googleapis.com/${google_pubsub_topic.events.id}"
  filter           = local.filter
  include_children = true

  depends_on = [google_project_service.needed]
}

# Without it the sink exists, and nothing ever arrives. A member, not a binding: that would throw other publishers out.
resource "google_pubsub_topic_iam_member" "writer" {
  project = var.project
  topic   = google_pubsub_topic.events.name
  role    = "roles/pubsub.publisher"
  member = one(concat(
    google_logging_project_sink.events[*].writer_identity,
    google_logging_folder_sink.events[*].writer_identity,
    google_logging_organization_sink.events[*].writer_identity,
  ))

  lifecycle {
    # A topic that is made anew has lost its roles.
    replace_triggered_by = [google_pubsub_topic.events.id]
  }
}
