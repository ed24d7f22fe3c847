/// nginx with nchan: one worker, and nchan's default settings except that a channel keeps one message, as a live query
/// has one result. Limits on connections and on requests of a connection are raised, so that clients keep theirs.
struct NginxConfiguration {
    let port: Int
    let folder: String
    /// The Redis that holds messages and subscriptions; nil for memory.
    let redisURL: String?

    var text: String {
        let redis = redisURL.map { "nchan_redis_url \"\($0)\"; nchan_use_redis on;" } ?? ""
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/nginx-\($0);" }.joined(separator: " ")
        return """
            load_module /usr/lib/nginx/modules/ngx_nchan_module.so;
            daemon off;
            worker_processes 1;
            worker_rlimit_nofile 20000;
            pid \(folder)/nginx.pid;
            events { worker_connections 19000; }
            http {
              access_log off;
              keepalive_requests 1000000000;
              \(temporary)
              \(redis)
              server {
                listen 127.0.0.1:\(port);
                location = /ready { return 204; }
                location ~ ^/pub/(.+)$ {
                  nchan_publisher;
                  nchan_channel_id $1;
                  nchan_message_buffer_length 1;
                }
                location ~ ^/sub/(.+)$ {
                  nchan_subscriber websocket longpoll;
                  nchan_channel_id $1;
                }
              }
            }

            """
    }
}
