# What a VM of a node group may do: write log entries.

mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email = "tpu-nodes@my-project.iam.gserviceaccount.com"
      name  = "projects/my-project/serviceAccounts/tpu-nodes@my-project.iam.gserviceaccount.com"
    }
  }
}

variables {
  project = "my-project"
}

run "a_vm_may_write_log_entries_in_its_project" {
  assert {
    condition     = google_service_account.node.project == "my-project" && google_service_account.node.account_id == "tpu-nodes"
    error_message = "The account must be in the project, and called tpu-nodes."
  }

  assert {
    condition     = [for member in google_project_iam_member.log_writer : [member.project, member.role, member.member]] == [["my-project", "roles/logging.logWriter", "serviceAccount:tpu-nodes@my-project.iam.gserviceaccount.com"]]
    error_message = "The account must be a log writer of the project."
  }

  assert {
    condition     = output.email == "tpu-nodes@my-project.iam.gserviceaccount.com" && output.name == "projects/my-project/serviceAccounts/tpu-nodes@my-project.iam.gserviceaccount.com"
    error_message = "The account must be given out by email and by name."
  }
}

run "a_vm_may_write_log_entries_in_each_project_that_it_runs_in" {
  variables {
    node_projects = ["node-project-1", "node-project-2"]
  }

  assert {
    condition     = sort([for member in google_project_iam_member.log_writer : member.project]) == tolist(["node-project-1", "node-project-2"])
    error_message = "The account must be a log writer of each of the projects."
  }
}
