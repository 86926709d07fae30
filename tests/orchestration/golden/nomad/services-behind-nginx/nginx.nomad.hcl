# nginx of services: 2 replicas, scaling horizontal
job "test-nginx" {
  datacenters = ["*"]

  meta = {
    "loadstone.deployment" = "test"
    "loadstone.service"    = "nginx"
  }

  constraint {
    attribute = "${node.unique.name}"
    operator  = "set_contains_any"
    value     = "worker-1"
  }

  spread {
    attribute = "${node.unique.name}"
  }

  # All at once: a job that is still being rolled out could not be scaled.
  update {
    max_parallel = 0
  }

  group "nginx" {
    count = 2

    # Always and where it was; elsewhere only if its node is lost.
    restart {
      attempts = 10
      interval = "1m"
      delay    = "1s"
      mode     = "delay"
    }

    network {
      port "http" {
        to = 8000
      }
    }

    service {
      name     = "test-nginx"
      provider = "consul"
      port     = "http"
      tags     = ["loadstone.deployment=test"]

      check {
        type                     = "tcp"
        port                     = "http"
        interval                 = "2s"
        timeout                  = "5s"
        failures_before_critical = 10
      }
    }

    task "nginx" {
      driver = "docker"

      config {
        image             = "loadstone/nginx:0.1.0"
        args              = ["nginx", "-p", "/tmp", "-c", "/etc/nginx/nginx.conf", "-e", "stderr"]
        ports             = ["http"]
        cpu_hard_limit    = true
        memory_hard_limit = 256

        labels = {
          "loadstone.deployment" = "test"
          "loadstone.service"    = "nginx"
        }

        mount {
          type     = "bind"
          source   = "local/nginx.conf"
          target   = "/etc/nginx/nginx.conf"
          readonly = true
        }
      }

      template {
        destination = "local/nginx.conf"
        change_mode = "noop"

        data = <<EOT
daemon off;
pid nginx.pid;
error_log stderr warn;
worker_processes 2;
worker_rlimit_nofile 576;

events {
    worker_connections 512;
}

http {
    access_log off;
    client_max_body_size 0;
    client_body_temp_path client_body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    keepalive_requests 100000;

    upstream behind {
        zone behind 256k;
        {{ if lt (len (service "test-frontend|any")) 2 }}{{ key "loadstone/waits-for/test-frontend" }}{{ end }}{{ range service "test-frontend|any" }}server {{ .Address }}:{{ .Port }}; {{ end }}
        keepalive 128;
        keepalive_requests 100000;
    }

    server {
        listen 8000;

        location / {
            proxy_pass http://behind;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
        }
    }
}
EOT

        wait {
          min = "500ms"
          max = "2s"
        }
      }

      resources {
        cpu    = 1000
        memory = 10
      }
    }
  }
}
