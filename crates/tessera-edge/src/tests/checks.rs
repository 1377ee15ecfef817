//! What a check finds.

use tessera_pki::{Authority, Leaf};
use tessera_proxy::demo::Files;

use crate::summary;

/// Returns what a check prints, or its error, about a proxy with this certificate for the others, at this address.
fn check(peer: &Leaf, pool: &Authority, address: &str, more: &str) -> Result<String, String> {
    let files = Files::make().unwrap();
    let origin = Authority::new("origin").issue_with(&["www.example", "*.shop.example"], |_| ());
    for (name, text) in [
        ("www.pem", &*origin.both_pem()),
        ("peer.pem", &peer.both_pem()),
        ("pool.pem", &pool.pem()),
        ("pool.key", &"07".repeat(32)),
    ] {
        files.write(name, text).unwrap();
    }
    let text = format!(
        "[pool]\nfile = \"unused\"\nkey = \"pool.key\"\n\
         [proxy]\nname = \"a\"\nlisten = \":443\"\nannounce = \"a.example:443\"\ncertificate = \"www.pem\"\n\
         [peers]\nlisten = \":9443\"\naddress = \"{address}\"\ncertificate = \"peer.pem\"\nca = \"pool.pem\"\n\
         [service.web]\ninstances = [\"127.0.0.1:1\"]\n{more}"
    );
    files.write("edge.toml", &text).unwrap();
    summary(&files.path("edge.toml")).map_err(|error| error.to_string())
}

#[test]
fn a_certificate_that_the_other_proxies_would_refuse_is_an_error() {
    let (pool, other) = (Authority::new("pool"), Authority::new("other"));
    let good = pool.issue("a.internal");
    assert!(check(&good, &pool, "a.internal:9443", "").is_ok());
    let for_ip = pool.issue_with(&["192.0.2.1"], |_| ());
    assert!(check(&for_ip, &pool, "192.0.2.1:9443", "").is_ok());
    let [no_client, no_server] = [0, 1].map(|at| {
        pool.issue_with(&["a.internal"], |params| drop(params.extended_key_usages.remove(at)))
    });
    for (peer, address, why) in [
        (&good, "b.internal:9443", "it is for other names"),
        (&other.issue("a.internal"), "a.internal:9443", "no trusted root issued it"),
        (&no_client, "a.internal:9443", "its extendedKeyUsage lacks clientAuth"),
        (&no_server, "a.internal:9443", "its extendedKeyUsage lacks serverAuth"),
    ] {
        let error = check(peer, &pool, address, "").unwrap_err();
        assert!(error.contains("peer.pem: the other proxies refuse this"), "{error}");
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn what_is_probably_not_intended_is_a_warning() {
    let pool = Authority::new("pool");
    let peer = pool.issue("a.internal");
    let check = |more: &str| check(&peer, &pool, "a.internal:9443", more).unwrap();
    let good = "hosts = [\"www.example\", \"a.shop.example\", \"192.0.2.1\"]\n\
                [process]\nadmin = \"unix:/tmp/edge.sock\"\n\
                [envoys]\npool = \"www\"\nkey = \"pool.key\"\nserver-names = [\"*.example\"]\n";
    assert!(!check(good).contains("warning"), "{}", check(good));
    for (more, warning) in [
        (
            "hosts = [\"other.example\"]\n",
            "[service.web] hosts: [proxy] certificate is not for other.example",
        ),
        ("hosts = [\"a.b.shop.example\"]\n", "[proxy] certificate is not for a.b.shop.example"),
        (
            "[process]\nadmin = \"unix:/nowhere/edge.sock\"\n",
            "[process] admin: there is no directory /nowhere",
        ),
        ("[process]\nadmin = \":9464\"\n", "[process] admin: "),
        (
            "[envoys]\npool = \"www\"\nkey = \"pool.key\"\nserver-names = [\"other.example\"]\n",
            "[envoys] server-names: none of them is a name of [proxy] certificate (*.shop.example, www.example)",
        ),
    ] {
        let text = check(more);
        assert!(text.contains("warning") && text.contains(warning), "{warning}: {text}");
    }
}
