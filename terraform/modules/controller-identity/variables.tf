variable "project" {
  description = "Project that holds the service account, and in which the operator writes its log entries."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project))
    error_message = "project must be a project id, like my-project: 6 to 63 lower-case letters, digits, \"-\", \".\" or \":\"."
  }
}

variable "account_id" {
  description = "What the service account is called before the @."
  type        = string
  default     = "tpu-node-group"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][-a-z0-9]{4,28}[a-z0-9]$", var.account_id))
    error_message = "account_id must have 6 to 30 lower-case letters, digits or \"-\", begin with a letter and end with a letter or digit."
  }
}

variable "role_id" {
  description = "Id of the custom role. Of several identities in one project, each needs a role of its own."
  type        = string
  default     = "tpuNodeGroupOperator"
  nullable    = false

  validation {
    condition     = can(regex("^[a-zA-Z0-9_.]{3,64}$", var.role_id))
    error_message = "role_id must have 3 to 64 letters, digits, \"_\" or \".\"."
  }
}

variable "subscription" {
  description = "The cluster's subscription, as projects/P/subscriptions/S."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^projects/[^/]+/subscriptions/[^/]+$", var.subscription))
    error_message = "subscription must be like projects/P/subscriptions/S."
  }
}

variable "node_projects" {
  description = "Projects in which node groups are made. None: `project` alone."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for project in var.node_projects : can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", project))])
    error_message = "node_projects must be project ids."
  }
}

variable "node_service_accounts" {
  description = "Service accounts that VMs of node groups have, as projects/P/serviceAccounts/EMAIL, each under any name. The operator may attach these and no other."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for account in values(var.node_service_accounts) : can(regex("^projects/[^/]+/serviceAccounts/[^/@]+@[^/]+$", account))])
    error_message = "node_service_accounts must be like projects/P/serviceAccounts/EMAIL."
  }
}

variable "federation" {
  description = "Lets Pods of a self-managed cluster be the account, by tokens of the cluster's own issuer. `jwks_json` are the issuer's keys, where Google cannot reach it."
  type = object({
    issuer          = string
    jwks_json       = optional(string)
    namespace       = optional(string, "tpu-node-group")
    service_account = optional(string, "tpu-node-group-controller")
    pool_id         = optional(string, "tpu-node-group")
  })
  default = null

  validation {
    condition     = var.federation == null ? true : can(regex("^https://[^/ ]", var.federation.issuer))
    error_message = "federation.issuer must be the cluster's --service-account-issuer, an https:// URL."
  }

  validation {
    condition     = var.federation == null ? true : can(regex("^[a-z][-a-z0-9]{2,30}[a-z0-9]$", var.federation.pool_id)) && !startswith(var.federation.pool_id, "gcp-")
    error_message = "federation.pool_id must have 4 to 32 lower-case letters, digits or \"-\", and not begin with \"gcp-\"."
  }

  validation {
    condition     = try(var.federation.jwks_json, null) == null ? true : can(jsondecode(var.federation.jwks_json).keys)
    error_message = "federation.jwks_json must be what kubectl get --raw /openid/v1/jwks prints."
  }
}

variable "create_key" {
  description = "Whether a key of the account is made. It does not expire and is in Terraform's state: federation, or the account of the VM that the operator runs on, is better."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !(var.create_key && var.federation != null)
    error_message = "Set create_key or federation, not both: with federation no key is needed."
  }
}
