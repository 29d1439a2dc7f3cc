variable "project" {
  description = "Project that holds the topic, the subscriptions and, unless `folder` or `organization` is set, the sink."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9.:-]{4,61}[a-z0-9]$", var.project))
    error_message = "project must be a project id, like my-project: 6 to 63 lower-case letters, digits, \"-\", \".\" or \":\"."
  }
}

variable "name" {
  description = "What topic and sink are called, and what the names of all else begin with."
  type        = string
  default     = "tpu-node-group-events"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][-a-z0-9]{2,80}$", var.name)) && !startswith(var.name, "goog")
    error_message = "name must have 3 to 81 lower-case letters, digits or \"-\", begin with a letter and not with \"goog\"."
  }
}

variable "clusters" {
  description = "Names of the clusters whose operators take events, each from a subscription of its own. A name is the operator's setting `cluster_name`."
  type        = set(string)
  default     = ["default"]
  nullable    = false

  validation {
    condition     = length(var.clusters) > 0 && alltrue([for cluster in var.clusters : can(regex("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", cluster))])
    error_message = "clusters must name at least one cluster; a name has at most 63 lower-case letters, digits or \"-\", and begins and ends with a letter or digit."
  }

  validation {
    condition     = length(setintersection(var.clusters, ["dead-letter", "probe"])) == 0
    error_message = "clusters must not be called dead-letter or probe: subscriptions of those names are made for other ends."
  }
}

variable "folder" {
  description = "Number of a folder whose projects' entries the sink takes, instead of those of `project` alone."
  type        = string
  default     = null

  validation {
    condition     = var.folder == null ? true : can(regex("^[0-9]+$", var.folder))
    error_message = "folder must be the number of a folder, without \"folders/\"."
  }
}

variable "organization" {
  description = "Number of an organization whose projects' entries the sink takes, instead of those of `project` alone."
  type        = string
  default     = null

  validation {
    condition     = var.organization == null ? true : can(regex("^[0-9]+$", var.organization))
    error_message = "organization must be the number of an organization, without \"organizations/\"."
  }

  validation {
    condition     = var.organization == null || var.folder == null
    error_message = "Set folder or organization, not both: a sink has one parent."
  }
}

variable "zones" {
  description = "Zones of the node groups; entries of VMs elsewhere are not taken. None: all zones."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for zone in var.zones : can(regex("^[a-z]+-[a-z]+[0-9]+-[a-z]$", zone))])
    error_message = "zones must be like us-central1-c."
  }
}

variable "name_pattern" {
  description = "Regular expression (RE2) of what the names of node groups begin with, as in `train-|eval-`. None: all names. Standalone templates, policies and groups count by their own names."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9|()\\[\\].*+?-]*$", var.name_pattern)) && can(regexall(var.name_pattern, ""))
    error_message = "name_pattern must be a regular expression of lower-case letters, digits and -|()[].*+? alone: it is put into the sink's filter as it is."
  }
}

variable "ack_deadline_seconds" {
  description = "How long an operator may have a message before it comes again: longer than its restart takes."
  type        = number
  default     = 60
  nullable    = false

  validation {
    condition     = var.ack_deadline_seconds >= 10 && var.ack_deadline_seconds <= 600 && floor(var.ack_deadline_seconds) == var.ack_deadline_seconds
    error_message = "ack_deadline_seconds must be a whole number from 10 to 600."
  }
}

variable "retry_seconds" {
  description = "Back-off before a refused message comes again: from `minimum`, doubling to `maximum`."
  type = object({
    minimum = optional(number, 1)
    maximum = optional(number, 60)
  })
  default  = {}
  nullable = false

  validation {
    condition     = 0 <= var.retry_seconds.minimum && var.retry_seconds.minimum <= var.retry_seconds.maximum && var.retry_seconds.maximum <= 600
    error_message = "retry_seconds must be from 0 to 600, minimum not above maximum."
  }
}

variable "max_delivery_attempts" {
  description = "After so many deliveries a message that no operator can read goes to the dead letters."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.max_delivery_attempts >= 5 && var.max_delivery_attempts <= 100
    error_message = "max_delivery_attempts must be from 5 to 100."
  }
}

variable "message_retention_seconds" {
  description = "How long messages wait for an operator that is not there. Older ones tell nothing that its look at the start does not."
  type        = number
  default     = 86400
  nullable    = false

  validation {
    condition     = var.message_retention_seconds >= 600 && var.message_retention_seconds <= 604800
    error_message = "message_retention_seconds must be from 600 (10 minutes) to 604800 (7 days)."
  }
}

variable "kms_key_name" {
  description = "Customer-managed key for messages at rest, as projects/P/locations/L/keyRings/R/cryptoKeys/K. None: Google's own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_name == null ? true : can(regex("^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$", var.kms_key_name))
    error_message = "kms_key_name must be like projects/P/locations/L/keyRings/R/cryptoKeys/K."
  }
}

variable "storage_regions" {
  description = "Regions in which messages may be stored. None: wherever the organization's policy allows."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for region in var.storage_regions : can(regex("^[a-z]+-[a-z]+[0-9]+$", region))])
    error_message = "storage_regions must be like us-central1."
  }
}

variable "probe" {
  description = "Whether there is a subscription for the probe of `tpu-node-group doctor`, which never pulls an operator's."
  type        = bool
  default     = false
  nullable    = false
}

variable "probe_members" {
  description = "Who may take messages from the probe's subscription, as in user:jo@example.com."
  type        = set(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.probe_members) == 0 || var.probe
    error_message = "probe_members needs probe = true: there is no subscription for them otherwise."
  }

  validation {
    condition     = alltrue([for member in var.probe_members : can(regex("^(user|group|serviceAccount|principal|principalSet):.+", member))])
    error_message = "probe_members must be like user:jo@example.com; allUsers and allAuthenticatedUsers are refused."
  }
}

variable "enable_apis" {
  description = "Whether the APIs that the operator needs are enabled in `project`. They are never disabled again."
  type        = bool
  default     = true
  nullable    = false
}

variable "labels" {
  description = "Labels of topics and subscriptions."
  type        = map(string)
  default     = {}
  nullable    = false
}
