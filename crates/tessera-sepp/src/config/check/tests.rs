use std::path::Path;

use tessera_proxy::config::Document;

use crate::config::Configuration;

/// A minimal configuration.
const LEAST: &str = r#"
[local]
fqdn = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org"
plmns = ["999-70"]
certificate = "sepp.pem"

[listen]
sbi = "127.0.0.1:7777"
n32c = ":7443"
n32f = ":7444"

[trust.visited]
plmns = ["001-01", "001-02"]
roots = "visited.pem"

[peer.visited]
fqdn = "sepp2.5gc.mnc001.mcc001.3gppnetwork.org"
plmns = ["001-01"]
anchor = "visited"
address = ["192.0.2.1:7443"]
"#;

fn checked(text: &str) -> Result<Configuration, String> {
    let document = Document::from_text(Path::new("sepp.toml"), text.to_owned());
    let configuration: Configuration = document.parse().map_err(|error| error.to_string())?;
    let checked = configuration.check().map_err(|error| document.locate(error));
    checked.map(|()| configuration).map_err(|error| {
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    })
}

#[test]
fn little_is_needed_and_the_rest_is_the_safe_choice() {
    let configuration = checked(LEAST).unwrap();
    let peer = &configuration.peer["visited"];
    assert!(peer.reconnection.resume && peer.guard.hide_topology && peer.initiate);
    assert!(!peer.reconnection.risky_psk_ke && !peer.reconnection.risky_replayable_early_data);
    assert_eq!(peer.reconnection.early_data, crate::config::EarlyData::Never);
    assert!(configuration.guard.log_only.is_empty());
}

#[test]
fn every_contradiction_is_reported_with_file_line_key_and_remedy() {
    let more = |text: &str| format!("{LEAST}{text}");
    let instead = |old: &str, new: &str| {
        assert!(LEAST.contains(old), "{old}");
        LEAST.replace(old, new)
    };
    let second = |plmn: &str| {
        more(&format!(
            "[trust.other]\nplmns = [\"{plmn}\"]\nroots = \"o.pem\"\n\
             [peer.other]\nfqdn = \"sepp.other.org\"\nplmns = [\"{plmn}\"]\nanchor = \"other\"\ninitiate = false\n"
        ))
    };
    for (text, told) in [
        (second("001-02"), "sepp.toml:13: [trust.visited] plmns: 001-02 is also in [trust.other]"),
        (
            second("001-001"),
            "sepp.toml:13: [trust.visited] plmns: 001-01 and 001-001 in [trust.other] share",
        ),
        (
            second("999-070"),
            "sepp.toml:26: [peer.other] plmns: 999-070 and 999-70 in [local] share",
        ),
        (second("999-70"), "sepp.toml:22: [trust.other] plmns: 999-70 is this SEPP's own"),
        (
            instead("[\"001-01\"]", "[\"001-03\"]"),
            "sepp.toml:18: [peer.visited] plmns: 001-03 is not in",
        ),
        (
            instead("anchor = \"visited\"", "anchor = \"v\""),
            "sepp.toml:19: [peer.visited] anchor: no [trust.v]: configured: visited",
        ),
        (
            instead("sepp2.5gc.mnc001.mcc001", "sepp1.5gc.mnc070.mcc999"),
            "sepp.toml:17: [peer.visited] fqdn: [local] has the same name",
        ),
        (
            instead("sepp2.5gc.mnc001", "sepp2.5gc.mnc002"),
            "sepp.toml:17: [peer.visited] fqdn: sepp2.5gc.mnc002",
        ),
        (
            instead("sepp1.5gc.mnc070", "sepp1.5gc.mnc071"),
            "sepp.toml:3: [local] fqdn: sepp1.5gc.mnc071",
        ),
        (
            instead("address = [\"192.0.2.1:7443\"]", ""),
            "sepp.toml:16: [peer.visited] address: no address to connect to",
        ),
        (
            more("srv = \"_n32c._tcp.x.org\""),
            "sepp.toml:21: [peer.visited] srv: conflicts with `address`",
        ),
        (more("keep-alive = \"1ms\""), "sepp.toml:21: [peer.visited] keep-alive: "),
        (more("purposes = []"), "sepp.toml:21: [peer.visited] purposes: "),
        (
            more("reconnection = { early-data = \"fs\", early-methods = [\"GET\", \"POST\"] }"),
            "sepp.toml:21: [peer.visited.reconnection] early-methods: POST is never sent early",
        ),
        (
            more("reconnection = { early-data = \"fs\", early-methods = [\"PATCH\"] }"),
            "sepp.toml:21: [peer.visited.reconnection] early-methods: only idempotent",
        ),
        (
            more("reconnection = { early-methods = [\"PUT\"] }"),
            "sepp.toml:21: [peer.visited.reconnection] early-methods: has no effect without early data",
        ),
        (
            more("reconnection = { resume = false, early-data = \"fs\" }"),
            "sepp.toml:21: [peer.visited.reconnection] early-data: needs resumption",
        ),
        (
            more("reconnection = { early-data = \"fs\", risky-replayable-early-data = true }"),
            "sepp.toml:21: [peer.visited.reconnection] risky-replayable-early-data: ",
        ),
        (
            more("reconnection = { repeatable = [\"PUT /a/*\"] }"),
            "sepp.toml:21: [peer.visited.reconnection] repeatable: only GET",
        ),
        (
            more("reconnection = { repeatable = [\"HEAD /a/*\"] }"),
            "sepp.toml:21: [peer.visited.reconnection] repeatable: only GET",
        ),
        (
            more("reconnection = { ticket-lifetime = \"8d\" }"),
            "sepp.toml:21: [peer.visited.reconnection] ticket-lifetime: ",
        ),
        (
            instead(":7443\"\nn32f", ":7444\"\nn32f")
                .replace("sbi = \"127.0.0.1:7777\"", "sbi = \":7444\""),
            "sepp.toml:9: [listen] n32c: [listen] sbi is already :7444: each listener",
        ),
        (
            more("[process]\nadmin = \":7443\""),
            "sepp.toml:9: [listen] n32c: [process] admin is already :7443: each listener",
        ),
        (more("[sbi]\nkey = \"a\""), "sepp.toml:22: [sbi] key: "),
        (
            more("[sbi]\nallowed-targets = [\"*.5gc.mnc001.mcc001.3gppnetwork.org\"]"),
            "sepp.toml:22: [sbi] allowed-targets: ",
        ),
        (
            more("[sbi.hosts]\n\"udm.5gc.mnc001.mcc001.3gppnetwork.org\" = \"127.0.0.1:1\""),
            "sepp.toml:21: [sbi] hosts: udm.5gc.mnc001.mcc001.3gppnetwork.org is in another network",
        ),
        (
            more("guard.apis = [\"nudm-sdm: GET /nudm-uecm/v1/*\"]"),
            "sepp.toml:21: [peer.visited.guard] apis: `nudm-sdm: GET /nudm-uecm/v1/*`: the path is not of nudm-sdm",
        ),
        (
            more("[nrf]\nuri = \"https://nrf.example.org\""),
            "sepp.toml:22: [nrf] uri: `https` needs",
        ),
        (
            more("[nrf]\nuri = \"http://nrf\"\ninstance-id = \"1\""),
            "sepp.toml:23: [nrf] instance-id: ",
        ),
        (more("[limits]\nstreams = 0"), "sepp.toml:22: [limits] streams: "),
        (more("[limits]\nconnections = 5\nhandshakes = 6"), "sepp.toml:23: [limits] handshakes: "),
        (more("[tickets]\nstate-key = \"k\""), "sepp.toml:22: [tickets] state-key: "),
        (
            more(
                "[tickets.fleet]\nring-key = \"ring\"\nvault = \"etcd\"\n\
                 etcd = { endpoints = [\"127.0.0.1:2379\"], ca = \"ca.pem\", server-name = \"etcd\" }\n",
            ),
            "sepp.toml:21: [tickets.fleet] epoch-keys: ",
        ),
        (more("[guard]\ninspected-body = \"17 MiB\""), "sepp.toml:22: [guard] inspected-body: "),
    ] {
        let error = checked(&text).map(|_| ()).unwrap_err();
        assert!(error.starts_with(told), "{error}\nand not\n{told}");
    }
}

#[test]
fn wrong_values_are_reported_with_their_place() {
    for (text, told) in [
        ("plmns = []", "must have at least one network"),
        ("plmns = [\"99970\"]", "`99970`: a PLMN ID is MCC-MNC"),
        ("pins = [\"ab\"]", "the SHA-256 of a certificate"),
        ("guard = { apis = [\"Nudm sdm\"] }", "write a service, and optionally methods and a path"),
        ("purposes = [\"ROMING\"]", "`ROMING` is not valid"),
        ("addres = []", "[peer.a] has no key `addres`; did you mean `address`?"),
    ] {
        let error = checked(&format!("[peer.a]\n{text}\n")).map(|_| ()).unwrap_err();
        assert!(error.starts_with("sepp.toml:2: ") && error.contains(told), "{error}");
    }
}

#[test]
fn n32c_and_n32f_may_share_a_listener() {
    let configuration = checked(&LEAST.replace(":7444", ":7443")).unwrap();
    assert!(configuration.listen.is_shared());
}

#[test]
fn the_example_of_the_package_is_a_configuration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/sepp.toml");
    let configuration = checked(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(configuration.peer.len(), 1);
}

#[test]
fn a_probable_mistake_is_a_warning() {
    let of_peer = |text: &str| {
        let warnings = checked(text).unwrap().warnings().into_iter();
        warnings.filter(|it| it.starts_with("[peer.visited] ")).collect::<Vec<_>>()
    };
    assert!(of_peer(LEAST).is_empty());
    let misspelt = format!("{LEAST}guard.apis = [\"nudm-smd: GET\", \"nudm-sdm\"]\n");
    let [warning] = &of_peer(&misspelt)[..] else { panic!("one of two services is known") };
    assert!(warning.contains("guard.apis: nudm-smd is not a service of roaming"), "{warning}");
    assert!(warning.ends_with("; did you mean `nudm-sdm`?"), "{warning}");
    let own = LEAST.replace("n32c = \":7443\"", "n32c = \"192.0.2.1:7443\"");
    let [warning] = &of_peer(&own)[..] else { panic!("its address is this SEPP's: {own}") };
    assert!(warning.contains("address: 192.0.2.1:7443 is this SEPP's own"), "{warning}");
}

#[test]
fn a_key_of_the_fleet_that_everybody_reads_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("tessera-sepp-fleet-{}", std::process::id()));
    std::fs::write(&path, "").unwrap();
    let fleet = "[tickets.fleet]\nring-key = \"ring\"\nvault = \"etcd\"\nepoch-keys = \"epochs\"\n";
    let etcd = format!(
        "[tickets.fleet.etcd]\nendpoints = [\"https://127.0.0.1:2379\"]\nca = \"ca.pem\"\ncertificate = \"a.pem\"\n\
         key = \"{}\"\n",
        path.display()
    );
    let configuration = checked(&format!("{LEAST}\n{fleet}{etcd}")).unwrap();
    let warned = |mode| {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        configuration.warnings().iter().any(|it| it.starts_with("[tickets] fleet.etcd.key: "))
    };
    assert!(warned(0o644) && !warned(0o600));
    std::fs::remove_file(&path).unwrap();
}
