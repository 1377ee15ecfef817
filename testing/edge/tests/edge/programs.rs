//! Programs of other makers: clients that resume and follow, and servers as instances of services.

use std::net::SocketAddr;
use std::path::Path;

use http::{Request, StatusCode};
use tessera::wire::NamedGroup;
use tessera_bindings::{ClientName, ProxyName};
use tessera_edge_tests::{ORIGIN, Pool, PoolSettings, until};
use tessera_kit::credential;
use tessera_test_peers::{
    Directory, Network, Process, free_port, go, haproxy, http as clients, nginx, openssl,
};

use crate::PROGRAM;

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: www.example\r\nConnection: close\r\n\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openssl_and_go_resume_at_the_other_proxy() {
    let pool =
        Pool::start(PoolSettings { clients: PoolSettings::COOKIES, ..PoolSettings::of(PROGRAM) })
            .await;
    let files = Directory::new();
    let ca = files.write("ca.pem", pool.origin_ca.pem());
    let session = files.path("session.pem");
    let connect = |to: SocketAddr, options: &[&str]| {
        let options = [&["-servername", ORIGIN, "-ign_eof", "-CAfile", &ca], options].concat();
        let mut client = openssl::s_client(to, &options);
        client.tell(REQUEST);
        assert!(client.ends(), "{}", client.output());
        client.stdout()
    };
    let [a, b] = [pool.addresses[0], pool.addresses[1]];
    let first = connect(a, &["-sess_out", &session]);
    assert!(first.contains("New, TLSv1.3") && first.contains("HTTP/1.1 200 OK"), "{first}");
    for to in [b, a, b] {
        let next = connect(to, &["-sess_in", &session, "-sess_out", &session]);
        assert!(next.contains("Reused, TLSv1.3") && next.contains("HTTP/1.1 200 OK"), "{next}");
    }

    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stek/go");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    let program = go::build(&module, &cache, &files);
    for group in [NamedGroup::X25519MLKEM768, NamedGroup::X25519] {
        let arguments = [ORIGIN, &ca, &group.0.to_string()];
        let mut client = Process::start_compiled("go", &program, Network::Loopback, arguments);
        client.tell(&format!("{a}\n")).says_times("resumed: false\n", 1);
        for (at, to) in [b, a, b].iter().enumerate() {
            client.tell(&format!("{to}\n")).says_times("resumed: true\n", at + 1);
        }
        assert!(client.end_input().ends(), "{}", client.output());
    }
}

/// Each run of curl is another process: cookies and alternatives are in files.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_follows_to_the_next_proxy_by_its_alternatives() {
    // curl's alternatives must last from one process to the next.
    let clients = PoolSettings::COOKIES;
    let pool = Pool::start(PoolSettings { clients, ma: 30, ..PoolSettings::of(PROGRAM) }).await;
    let files = Directory::new();
    let ca = files.write("ca.pem", pool.origin_ca.pem());
    let (jar, alternatives) = (files.path("jar"), files.path("alternatives"));
    let port = pool.addresses[0].port();
    let resolve = format!("{ORIGIN}:{port}:127.0.0.1");
    let curl = |path: &str| {
        let url = format!("https://{ORIGIN}:{port}{path}");
        let files = ["--cookie", &jar, "--cookie-jar", &jar, "--alt-svc", &alternatives];
        let more = ["--cacert", &ca, "--resolve", &resolve, "--http2", "--include"];
        let print = ["--write-out", "\nto %{remote_ip} %{http_version} %{http_code}", &url];
        clients::curl(&[&files[..], &more, &print].concat())
    };
    let first = curl("/cart/1");
    assert!(
        first.contains("set-cookie: tessera-client=") && first.ends_with("to 127.0.0.1 2 200"),
        "{first}"
    );
    let (_, cookie) = first.split_once("tessera-client=").unwrap();
    let (cookie, _) = cookie.split_once(';').unwrap();
    let name = format!("cookie:{}", credential::fingerprint(cookie.as_bytes()));
    let name = ClientName::new(name).unwrap();
    let second = curl("/cart/2");
    let [a, b] = [pool.addresses[0], pool.addresses[1]];
    assert!(second.contains(&format!("alt-svc: h2=\"{a}\"; ma=30; persist=1")), "{second}");
    until("it is bound", || pool.table.clients_of(&ProxyName("a".into())) == [name.clone()]).await;
    pool.announce(&name, "b").await;
    let third = curl("/cart/3");
    assert!(third.contains(&format!("alt-svc: h2=\"{b}\"")), "{third}");
    assert!(third.ends_with("to 127.0.0.1 2 200"), "{third}");
    for path in ["/cart/4", "/cart/5"] {
        let next = curl(path);
        assert!(next.contains("x-at: b") && next.ends_with("to 127.0.0.2 2 200"), "{next}");
    }
    let executed: Vec<_> = pool.executions.all().into_iter().map(|it| (it.at, it.path)).collect();
    let paths = ["/cart/1", "/cart/2", "/cart/3", "/cart/4", "/cart/5"].map(str::to_owned);
    let places = ["a", "a", "a", "b", "b"];
    assert_eq!(executed, places.into_iter().zip(paths).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_and_haproxy_serve_behind_the_proxies() {
    let ports = [(); 3].map(|()| free_port().unwrap());
    let [nginx_port, plain_port, http2_port] = ports;
    let files = Directory::new();
    let temporary = files.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    files.write("big", vec![b'x'; 3_000_000]);
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|it| format!("{it}_temp_path {temporary};"))
        .concat();
    let settings = format!(
        "pid {}; worker_processes 1; error_log stderr; events {{}}\n\
         http {{ access_log off; {paths}\n\
         server {{ listen 127.0.0.1:{nginx_port}; underscores_in_headers on;\n\
         location = /big {{ root {}; }}\n\
         location / {{ return 200 \"nginx $request_method $request_uri $http_host $http_tessera_client\\n\"; }} }} }}",
        files.path("nginx.pid"),
        files.path("").trim_end_matches('/'),
    );
    let _nginx = nginx::start(&files, &settings, &[nginx_port]);
    let answer = "http-request return status 200 content-type text/plain lf-string \
                  \"haproxy %[method] %[path] %[req.ver] %[req.hdr(tessera-client)]\"";
    let settings = format!(
        "defaults\n mode http\n timeout client 10s\n timeout server 10s\n timeout connect 10s\n\
         frontend plain\n bind 127.0.0.1:{plain_port}\n {answer}\n\
         frontend http2\n bind 127.0.0.1:{http2_port} proto h2\n {answer}\n"
    );
    let _haproxy = haproxy::start(&settings, &[plain_port, http2_port]);
    let more = format!(
        "[service.plain]\npath = \"/plain\"\ninstances = [\"127.0.0.1:{plain_port}\"]\n\
         [service.http2]\npath = \"/http2\"\nhttp2 = true\ninstances = [\"127.0.0.1:{http2_port}\"]\n"
    );
    let instances = format!("\"127.0.0.1:{nginx_port}\"");
    let pool = Pool::start(PoolSettings {
        instances: Some(&instances),
        more: &more,
        ..PoolSettings::of(PROGRAM)
    })
    .await;
    let drone = pool.drone(Some("drone.example"));
    let client = "dns%3Adrone.example";
    for to in ["a", "b", "a"] {
        pool.moves(&drone, to).await;
        for (method, path, expected) in [
            ("GET", "/x?y=%2e", format!("nginx GET /x?y=%2e www.example {client}\n")),
            ("POST", "/x", format!("nginx POST /x www.example {client}\n")),
            ("GET", "/plain/x", format!("haproxy GET /plain/x 1.1 {client}")),
            ("PUT", "/http2/x", format!("haproxy PUT /http2/x 2.0 {client}")),
        ] {
            let request = Request::builder().method(method).uri(format!("https://{ORIGIN}{path}"));
            let request = request.header("tessera_client", "king");
            let body = if method == "GET" { String::new() } else { "x".repeat(100_000) };
            let answer = drone.send(request, body).await.unwrap();
            assert_eq!((answer.status, answer.body), (StatusCode::OK, expected));
        }
        let big = Request::get(format!("https://{ORIGIN}/big"));
        assert_eq!(drone.send(big, "").await.unwrap().body.len(), 3_000_000);
    }
}
