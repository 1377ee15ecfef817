//! Messages cross both SEPPs unchanged: T10.

use bytes::Bytes;
use http::Method;
use tessera_sepp_tests::{Words, World, request};

use crate::SEPP;

#[test]
fn each_method_and_status_crosses_and_the_files_are_right() {
    let world = World::start(SEPP, Words::default());
    for sepp in [world.home(), &world.visited] {
        let (could_run, says) = sepp.check();
        assert!(could_run, "{says}");
    }
    for (method, end, status, body) in [
        (Method::GET, "am-data", 200, tessera_sepp_tests::Function::AM_DATA),
        (Method::POST, "created", 201, "{}"),
        (Method::PUT, "echo", 200, "{}"),
        (Method::DELETE, "nothing", 204, ""),
        (Method::GET, "missing", 404, r#"{"status":404,"cause":"USER_NOT_FOUND"}"#),
    ] {
        let (name, reply) = world.ask(method.clone(), end);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!((reply.status.as_u16(), text.as_str()), (status, body), "{}", world.output());
        let asked = world.udm.asked().pop().unwrap();
        assert_eq!((&asked.method, asked.name()), (&method, name));
        assert!(!asked.headers.contains_key("3gpp-sbi-target-apiroot"), "{:?}", asked.headers);
        let origin = asked.headers.get("3gpp-sbi-originating-network-id").unwrap();
        assert!(origin.to_str().unwrap().starts_with("001-01"), "{origin:?}");
    }
    // The response has the function's own headers too.
    assert_eq!(world.ask(Method::GET, "am-data").1.headers["etag"], "yes");
}

#[test]
fn a_large_body_crosses_both_ways() {
    let guard = "[guard]\nlog-only = [\"body-length\", \"content-type\"]\n";
    let world = World::start(SEPP, Words { home: guard, visited: guard, ..Words::default() });
    let json = Bytes::from(format!("{{\"supportedFeatures\":\"{}\"}}", "x".repeat(200 << 10)));
    let piece = (0..3 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    for (kind, body) in
        [("application/json", json), ("application/octet-stream", piece.collect::<Bytes>())]
    {
        let path = "/nudm-sdm/v2/imsi-999700000000001/echo";
        let asked = request(Method::POST, path, &world.name()).header("content-type", kind);
        let reply = world.amf.ask(asked.body(body.clone()).unwrap());
        assert_eq!(reply.status, 200, "{kind}: {reply:?}");
        assert!(reply.body == body, "{kind}: {} bytes came back", reply.body.len());
    }
}
