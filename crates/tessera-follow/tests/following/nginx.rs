//! nginx as the proxies.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tessera_follow::{FollowingClient, Protocol, Route};
use tessera_test_peers::{Directory, free_port, nginx};

use crate::common::{ORIGIN, World, uri};

/// Two servers of one process, with one key for tickets. The first one announces the second.
#[tokio::test]
async fn a_client_moves_between_two_nginx_and_resumes() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let world = World::new(protocol);
        let directory = Directory::new();
        let leaf = world.authority.issue(ORIGIN);
        let certificate = directory.write_private("server.pem", leaf.chain_pem());
        let key = directory.write_private("server.key", leaf.key_pem());
        let tickets = directory.write_private("tickets", [7; 80]);
        let [a, b] = [free_port().unwrap(), free_port().unwrap()];
        let h2 = if protocol == Protocol::Http2 { "http2" } else { "" };
        let server = |port: u16, name: &str, announced: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port} ssl {h2}; location / {{ \
                 add_header Alt-Svc '{announced}'; \
                 return 200 \"{name} $ssl_session_reused $host $http_alt_used\"; }} }}"
            )
        };
        let settings = format!(
            "worker_processes 1; pid {}; error_log stderr; events {{}} http {{ access_log off; \
             client_body_temp_path {temporary}; proxy_temp_path {temporary}; \
             fastcgi_temp_path {temporary}; uwsgi_temp_path {temporary}; scgi_temp_path {temporary}; \
             ssl_protocols TLSv1.3; ssl_certificate {certificate}; ssl_certificate_key {key}; \
             ssl_session_ticket_key {tickets}; {} {} }}",
            directory.path("nginx.pid"),
            server(a, "a", &world.alternative("b.example", 60)),
            server(b, "b", "clear"),
            temporary = directory.path("tmp"),
        );
        let _nginx = nginx::start(&directory, &settings, &[a, b]);
        for (host, port) in [(ORIGIN, a), ("b.example", b)] {
            world.names.lead(host, ([127, 0, 0, 1], port).into());
        }
        let connector = world.connector().with_sessions(world.sessions.clone());
        let client = FollowingClient::<Full<Bytes>, _>::over(world.names.clone(), connector);
        let mut answers = Vec::new();
        for path in ["/1", "/2", "/3"] {
            let response = client.get(uri(path).parse().unwrap()).await.unwrap();
            let route = response.extensions().get::<Route>().unwrap().clone();
            assert_eq!(matches!(route, Route::Alternative(_)), path == "/2");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            answers.push(String::from_utf8(body.to_vec()).unwrap());
            world.sessions.come().await;
        }
        // `r` is a resumed session.
        let b = format!("b r {ORIGIN} b.example");
        assert_eq!(answers[0], format!("a . {ORIGIN} "));
        assert_eq!(answers[1], b);
        assert!(answers[2].starts_with("a "), "{}", answers[2]);
    }
}
