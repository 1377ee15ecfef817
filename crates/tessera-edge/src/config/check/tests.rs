use std::path::Path;

use tessera_proxy::config::Document;

use super::*;

const GOOD: &str = include_str!("../../../../../packaging/edge.toml");

fn problem(text: &str) -> String {
    let document = Document::from_text(Path::new("/edge.toml"), text.to_owned());
    let checked = document
        .parse::<EdgeConfig>()
        .and_then(|edge| edge.check().map_err(|error| document.locate(error)));
    checked.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn the_example_of_the_package_has_no_contradiction() {
    assert_eq!(problem(GOOD), "");
}

#[test]
fn contradictions_name_their_key_and_the_fix() {
    for (from, to, begins) in [
        ("ma = 30", "ma = 61", "[pool] ma: must be whole seconds, 1 to 60"),
        ("ma = 30", "ma = \"500ms\"", "[pool] ma: must be whole seconds"),
        ("dwell = 30", "dwell = 29", "[pool] dwell: must be at least `ma`"),
        ("name = \"a\"", "name = \"a b\"", "[proxy] name: must be 1 to 64"),
        ("announce = \"a.example:443\"", "announce = \"a.example\"", "[proxy] announce: must be"),
        ("announce = \"a.example:443\"", "announce = 'a\"b:443'", "[proxy] announce: must be"),
        ("address = \"a.internal:9443\"", "address = \"a.internal\"", "[peers] address: must be"),
        ("listen = \":9443\"", "listen = \":443\"", "[peers] listen: [proxy] listen is already"),
        ("named-by = \"certificate\"", "named-by = \"cookie\"", "[clients] ca: has no effect"),
        (
            "ca = \"clients.pem\"",
            "ca = \"clients.pem\"\nbound-per-address = 7",
            "[clients] bound-per-address: has no effect",
        ),
        ("ca = \"clients.pem\"", "", "[clients] ca: clients named by their certificates"),
        ("path = \"/\"", "path = \"/a/../\"", "[service.web] path: must begin with /"),
        ("hosts = [\"www.example\"]", "hosts = [\"WWW.example\"]", "[service.web] hosts: must"),
        ("path = \"/\"", "path = \"/\"\nmethods = [\"get\"]", "[service.web] methods: must be"),
        ("path = \"/\"", "path = \"/\"\nmethods = [\"TRACE\"]", "[service.web] methods: CONNECT"),
        ("path = \"/\"", "path = \"/\"\nstate = \"x\"", "[service.web] state: must be a path"),
        (
            "path = \"/\"",
            "path = \"/\"\nadmit = [\"dns:drone.example\"]",
            "[service.web] admit: write names as",
        ),
        (
            "path = \"/\"",
            "path = \"/\"\nadmit = [\"*.example\"]",
            "[service.web] admit: names are compared",
        ),
        (
            "path = \"/\"",
            "path = \"/A/b\"\nstate = \"//a\"",
            "[service.web] state: must be a path of its own",
        ),
        (
            "instances = [\"127.0.0.1:8080\"]",
            "instances = [\"127.0.0.1:8080\", { address = \"b:1\", rank = 1 }]\nstate = \"/state\"",
            "[service.web] state: needs instances of one rank",
        ),
        ("path = \"/\"", "path = \"/\"\nserver-name = \"x\"", "[service.web] server-name: has"),
        ("instances = [\"127.0.0.1:8080\"]", "instances = []", "[service.web] instances: names"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let problem = problem(&GOOD.replacen(from, to, 1));
        let (_, what) = problem.split_once(": ").unwrap_or_default();
        assert!(what.starts_with(begins), "{to}: {problem}");
    }
    let envoys = |text: &str| problem(&format!("{GOOD}\n[envoys]\nkey = \"ring.key\"\n{text}\n"));
    assert_eq!(envoys("pool = \"www\""), "");
    assert!(envoys("pool = \"\"").contains("[envoys] pool: must be that"));
    assert!(envoys("pool = \"www\"\nrotate-every = 0").contains("[envoys] rotate-every: "));
    assert_eq!(envoys("pool = \"www\"\nserver-names = [\"*.example\"]"), "");
    let with_kind = envoys("pool = \"www\"\nserver-names = [\"dns:www.example\"]");
    assert!(with_kind.contains("[envoys] server-names: write names as"), "{with_kind}");
    let sites = |from: &str, to: &str| {
        let (own, other) = ("0f".repeat(16), "1f".repeat(16));
        let table = format!(
            "one-time-keys = {{ listen = \":9444\", vault-name = \"{own}\", ca = \"p.pem\", certificate = \"a.pem\", \
             others = [{{ address = \"b:1\", server-name = \"b\", vault-name = \"{other}\" }}] }}"
        );
        problem(&GOOD.replacen("site = \"north\"", &table.replace(from, to), 1))
    };
    assert_eq!(sites("", ""), "");
    let (other, own) = ("1f".repeat(16), "0F".repeat(16));
    for (from, to, begins) in [
        ("0f0f", "xf0f", "vault-name: must be set"),
        ("0f0f", "0f", "vault-name: must be set"),
        ("1f1f", "1f", "others: the `vault-name`"),
        (&other, &own, "others: has the"),
        (":9444", "systemd:keys", "listen: must be"),
    ] {
        let problem = sites(from, to);
        assert!(problem.contains(&format!("[proxy.one-time-keys] {begins}")), "{problem}");
    }
    let signer = |more: &str, servers: &str| {
        let table = format!(
            "{more}signer = {{ servers = [{servers}], name = \"www\", ca = \"s.pem\", certificate = \"a.pem\" }}"
        );
        problem(&GOOD.replacen("site = \"north\"", &table, 1))
    };
    assert_eq!(signer("", "\"signer.internal:9444\""), "");
    let both = signer("key = \"www.key\"\n", "\"signer.internal:9444\"");
    assert!(both.contains("[proxy] signer: the private key is in `key`"), "{both}");
    for servers in ["", "\"signer.internal\""] {
        assert!(signer("", servers).contains("[proxy] signer: `servers` lists"), "{servers}");
    }
    let first = GOOD.replacen("path = \"/\"", "path = \"/a\"", 1);
    for (path, same) in [("/a", true), ("//a", true), ("/%61", true), ("/a/", false)] {
        let two = format!(
            "[service.two]\nhosts = [\"www.example\"]\npath = \"{path}\"\ninstances = [\"b:1\"]\n"
        );
        let problem = problem(&format!("{first}\n{two}"));
        assert_eq!(problem.contains("has this host and path already"), same, "{path}: {problem}");
    }
}
