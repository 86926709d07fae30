# Machines of Hetzner Cloud. Credentials: HCLOUD_TOKEN.

terraform {
  required_providers {
    hcloud = {
      source  = "hetznercloud/hcloud"
      version = "~> 1.50"
    }
  }
}

variable "token" {
  description = "In the name of everything that is made."
  type        = string
}

variable "machines" {
  description = "Names: client-1, manager-1, worker-1."
  type        = list(string)
}

variable "public_key" {
  description = "May log in to all machines."
  type        = string
}

variable "type" {
  description = "The type of server; those with dedicated processors (ccx) disturb each other least."
  type        = string
}

variable "image" {
  description = "Its name."
  type        = string
  default     = "ubuntu-24.04"
}

variable "network" {
  description = "The network zone in which the machines' own network is made."
  type        = string
  default     = "eu-central"
}

variable "location" {
  description = "A location of that zone."
  type        = string
  default     = "fsn1"
}

resource "hcloud_ssh_key" "login" {
  name       = var.token
  public_key = var.public_key
}

resource "hcloud_network" "shared" {
  name     = var.token
  ip_range = "10.40.0.0/16"
  labels   = { loadstone = var.token }
}

resource "hcloud_network_subnet" "shared" {
  network_id   = hcloud_network.shared.id
  type         = "cloud"
  network_zone = var.network
  ip_range     = "10.40.1.0/24"
}

# From outside SSH alone; it does not filter the machines' own network.
resource "hcloud_firewall" "outside" {
  name   = var.token
  labels = { loadstone = var.token }

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = ["0.0.0.0/0", "::/0"]
  }
}

resource "hcloud_server" "machine" {
  for_each     = toset(var.machines)
  name         = "${var.token}-${each.key}"
  server_type  = var.type
  image        = var.image
  location     = var.location
  ssh_keys     = [hcloud_ssh_key.login.id]
  firewall_ids = [hcloud_firewall.outside.id]
  labels       = { loadstone = var.token }

  network {
    network_id = hcloud_network.shared.id
    ip         = cidrhost(hcloud_network_subnet.shared.ip_range, 10 + index(var.machines, each.key))
  }
}

output "machines" {
  description = "Of each: its address in the network of all, the one outside, and the user for SSH."
  value = {
    for name in var.machines : name => {
      address = cidrhost(hcloud_network_subnet.shared.ip_range, 10 + index(var.machines, name))
      outside = hcloud_server.machine[name].ipv4_address
      login   = "root"
    }
  }
}

output "inventory" {
  description = "The hosts.yaml of Loadstone; machines without an address outside are reached through the first."
  value = yamlencode({
    hosts = {
      for name in var.machines : name => {
        login   = "root@${hcloud_server.machine[name].ipv4_address}"
        address = cidrhost(hcloud_network_subnet.shared.ip_range, 10 + index(var.machines, name))
        roles   = [regex("^[a-z]+", name)]
      }
    }
  })
}
