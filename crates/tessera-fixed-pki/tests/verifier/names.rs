//! Names of servers (RFC 9525).

use rcgen::SanType;
use tessera_fixed_pki::Defect;

use crate::pki::{Both, Peer, extension, root, server_params, with};

/// Every name against every other: both verifiers agree.
#[test]
fn names_match_as_in_webpki() {
    const PRESENTED: &[&str] = &[
        "",
        "a.example",
        "A.Example",
        "a.example.",
        "*.example",
        "*.a.example",
        "*.A.EXAMPLE",
        "*",
        "*.",
        "*.*.example",
        "a*.a.example",
        "*a.a.example",
        "b.*.example",
        "b.a.example",
        "-a.example",
        "a-.example",
        "a_b.example",
        "xn--a.example",
        "192.0.2.1",
        "example",
        "a..example",
        ".a.example",
        "a.1",
        "1.a",
        "*.co.uk",
        "*.uk",
        "a b.example",
        "*.a.example.",
    ];
    const ASKED: &[&str] = &[
        "a.example",
        "A.EXAMPLE",
        "a.example.",
        "b.a.example",
        "c.b.a.example",
        "example",
        "b.a.example.",
        "a_b.example",
        "xn--a.example",
        "1.a",
        "x.co.uk",
        "aa.a.example",
        "-a.example",
        "b.c.example",
    ];
    let root = root();
    let both = Both::new(&[&root]);
    let mut accepted = 0;
    for presented in PRESENTED {
        let mut params = server_params();
        params.subject_alt_names = vec![SanType::DnsName((*presented).try_into().unwrap())];
        let question = Peer::new(&params, &root).as_server();
        for asked in ASKED {
            let question = with(question.clone(), |it| it.server_name = Some((*asked).into()));
            let verdicts = [&both.fixed as &dyn tessera::auth::PeerVerifier, &both.webpki]
                .map(|verifier| crate::pki::judge(verifier, &question).map_err(|it| it.alert));
            assert_eq!(verdicts[0], verdicts[1], "{presented} {asked}");
            accepted += usize::from(verdicts[0].is_ok());
        }
    }
    assert!(accepted > 10, "{accepted}");
}

#[test]
fn a_server_is_found_among_many_names() {
    let root = root();
    let both = Both::new(&[&root]);
    let mut params = server_params();
    params.subject_alt_names = vec![
        SanType::Rfc822Name("a@server.example".try_into().unwrap()),
        SanType::IpAddress([192, 0, 2, 1].into()),
        SanType::URI("https://server.example".try_into().unwrap()),
        SanType::DnsName("*.other.example".try_into().unwrap()),
        SanType::DnsName("server.example".try_into().unwrap()),
    ];
    both.accept(&Peer::new(&params, &root).as_server());
    params.subject_alt_names.pop();
    both.refuse(&Peer::new(&params, &root).as_server(), Defect::Name);
}

#[test]
fn a_common_name_names_no_server() {
    let root = root();
    let both = Both::new(&[&root]);
    let mut params = server_params();
    params.subject_alt_names = vec![];
    params.distinguished_name.push(rcgen::DnType::CommonName, "server.example");
    both.refuse(&Peer::new(&params, &root).as_server(), Defect::Name);
}

#[test]
fn alternative_names_are_well_formed() {
    let root = root();
    let both = Both::new(&[&root]);
    let of = |value: &[u8]| {
        let mut params = server_params();
        params.subject_alt_names = vec![];
        params.custom_extensions = vec![extension(&[2, 5, 29, 17], false, value)];
        Peer::new(&params, &root).as_server()
    };
    both.refuse(&of(&[0x30, 0]), Defect::Name);
    both.refuse(&of(&[5, 0]), Defect::Malformed);
    both.refuse(&of(&[0x30, 2, 5, 0]), Defect::Malformed);
    both.refuse(&of(&[0x30, 2, 0xa2, 0]), Defect::Malformed);
    both.refuse(&of(&[0x30, 2, 0x89, 0]), Defect::Malformed);
    both.refuse(&of(&[0x30, 2, 0x82, 1]), Defect::Malformed);
    let mut good = b"\x30\x12\x82\x0eserver.example".to_vec();
    both.refuse(&of(&good), Defect::Malformed);
    good.extend([5, 0]);
    both.refuse_alone(&of(&good), Defect::Malformed);
}

#[test]
fn a_question_without_a_dns_name_accepts_no_server() {
    let root = root();
    let both = Both::new(&[&root]);
    let question = Peer::new(&server_params(), &root).as_server();
    for name in [None, Some(""), Some("not a name"), Some("*.example"), Some("a.1")] {
        let question = with(question.clone(), |it| it.server_name = name.map(Into::into));
        both.refuse(&question, Defect::ServerName);
    }
    let mut params = server_params();
    params.subject_alt_names.push(SanType::IpAddress([192, 0, 2, 1].into()));
    let by_address = with(Peer::new(&params, &root).as_server(), |it| {
        it.server_name = Some("192.0.2.1".into());
    });
    both.refuse_alone(&by_address, Defect::ServerName);
}
