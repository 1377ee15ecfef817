//! Multipart bodies (RFC 2046 §5.1) that some readers split differently.

use super::json::Scene;
use super::lies::Place;
use super::random::Random;
use super::{HostileMessage, Message};

const fn scene(others: &'static str, member: &'static str, place: Place) -> Scene {
    let path = "/nsmf-pdusession/v1/pdu-sessions";
    Scene { method: "POST", path, others, member, place, around: "@", is_list: false }
}

const SCENES: [Scene; 4] = [
    scene(r#""pduSessionId":5,"dnn":"internet","#, "servingNetwork", Place::Sender),
    scene(r#""pduSessionId":5,"sNssai":{"sst":1},"#, "vsmfPduSessionUri", Place::Uri),
    scene(r#""pduSessionId":5,"#, "supi", Place::Guest),
    scene(r#""pduSessionId":5,"#, "ismfPduSessionUri", Place::Uri),
];

/// The content type and the body: `@` is the JSON, `!` another that is allowed, and `|` ends a line.
const FORMS: [(&str, &str, &str); 32] = [
    (
        "plain",
        RELATED,
        "--b|content-type: application/json||@|--b|content-type: application/vnd.3gpp.5gnas||n|--b--|",
    ),
    ("alone", RELATED, "--b|content-type: application/json||@|--b--|"),
    (
        "second of two",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: application/json||@|--b--|",
    ),
    (
        "first of two",
        RELATED,
        "--b|content-type: application/json||@|--b|content-type: application/json||!|--b--|",
    ),
    (
        "typed NGAP",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: application/vnd.3gpp.ngap||@|--b--|",
    ),
    (
        "typed NAS",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: application/vnd.3gpp.5gnas||@|--b--|",
    ),
    (
        "typed NGAP behind a mark",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: application/vnd.3gpp.ngap||\u{feff}@|--b--|",
    ),
    (
        "typed NGAP behind garbage",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: application/vnd.3gpp.ngap||\u{1} @|--b--|",
    ),
    (
        "first, and binary",
        RELATED,
        "--b|content-type: application/vnd.3gpp.5gnas||@|--b|content-type: application/json||!|--b--|",
    ),
    (
        "typed text",
        RELATED,
        "--b|content-type: application/json||!|--b|content-type: text/plain||@|--b--|",
    ),
    ("without a type", RELATED, "--b||@|--b--|"),
    (
        "with an id alone",
        RELATED,
        "--b|content-id: x||@|--b|content-type: application/json||!|--b--|",
    ),
    ("typed in other case", RELATED, "--b|Content-TYPE: Application/JSON||@|--b--|"),
    (
        "typed twice",
        RELATED,
        "--b|content-type: application/vnd.3gpp.ngap|content-type: application/json||@|--b--|",
    ),
    ("typed over two lines", RELATED, "--b|content-type:| application/json||@|--b--|"),
    ("behind a preamble", RELATED, "x|--b|content-type: application/json||@|--b--|"),
    (
        "in a preamble",
        RELATED,
        "--c|content-type: application/json||@|--c--|--b|content-type: application/json||!|--b--|",
    ),
    (
        "in the epilogue",
        RELATED,
        "--b|content-type: application/json||!|--b--|--b|content-type: application/json||@|--b--|",
    ),
    ("behind the end", RELATED, "--b|content-type: application/json||!|--b--||@"),
    ("behind an empty line", RELATED, "|--b|content-type: application/json||@|--b--|"),
    ("never ended", RELATED, "--b|content-type: application/json||@"),
    ("boundary with blanks behind", RELATED, "--b  |content-type: application/json||@|--b--  |"),
    ("boundary of another", RELATED, "--bb|content-type: application/json||@|--bb--|"),
    (
        "boundary in quotes",
        "multipart/related; boundary=\"b\"",
        "--b|content-type: application/json||@|--b--|",
    ),
    ("two boundaries", "multipart/related; boundary=b; boundary=c", TWO),
    ("two boundaries, the other way", "multipart/related; boundary=c; boundary=b", TWO),
    (
        "boundary in other case",
        "multipart/related; BOUNDARY=b",
        "--b|content-type: application/json||@|--b--|",
    ),
    ("boundary in two ways", "multipart/related; boundary=c; boundary*=utf-8''b", TWO),
    ("mixed", "multipart/mixed; boundary=b", "--b|content-type: application/json||@|--b--|"),
    (
        "form data",
        "multipart/form-data; boundary=b",
        "--b|content-disposition: form-data; name=x||@|--b--|",
    ),
    (
        "with an unread coding",
        RELATED,
        "--b|content-type: application/json|content-transfer-encoding: 8bit||@|--b--|",
    ),
    ("typed JSON alone", "application/json", "--b|content-type: application/json||@|--b--|"),
];
const RELATED: &str = "multipart/related; boundary=b; type=\"application/json\"";
const TWO: &str =
    "--b|content-type: application/json||@|--b--|--c|content-type: application/json||!|--c--|";

/// Encodes bytes as `=7B` (RFC 2045 §6.7), which readers of mail decode.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("={byte:02X}").into_bytes()).collect()
}

fn filled(form: &str, json: &[u8], line: &str, honest: &str) -> Vec<u8> {
    let form = form.replace('|', line);
    let (before, behind) = form.split_once('@').unwrap_or((&form, ""));
    [before.replace('!', honest).as_bytes(), json, behind.replace('!', honest).as_bytes()].concat()
}

pub fn hostile(random: &mut Random) -> HostileMessage {
    let scene = random.pick(&SCENES);
    let (mut hostile, document) = scene.hostile(random);
    let honest = r#"{"pduSessionId":6}"#;
    // A trick that changes all lines isn't combined: few readers follow both.
    let in_lines = random.below(5);
    let (what, kind, form) = *random.pick(if in_lines < 2 { &FORMS[..4] } else { &FORMS[..] });
    let (how, json, line) = match in_lines {
        0 => (Some("quoted-printable"), quoted(&document.bytes), "\r\n"),
        1 => (Some("lines end with LF"), document.bytes, "\n"),
        _ => (None, document.bytes, "\r\n"),
    };
    let form = match in_lines {
        0 => form.replace("||@", "|content-transfer-encoding: quoted-printable||@"),
        _ => form.to_owned(),
    };
    let body = filled(&form, &json, line, honest);
    let message = Message { body, ..hostile.message }.header("content-type", kind);
    hostile.what.extend([what].into_iter().chain(how).map(String::from));
    HostileMessage { message, ..hostile }
}

pub fn honest() -> Vec<(String, Message)> {
    let scene = |scene: &Scene| {
        let message = scene.honest();
        let body = filled(FORMS[0].2, &message.body, "\r\n", "");
        (scene.member.to_owned(), Message { body, ..message }.header("content-type", RELATED))
    };
    SCENES.iter().map(scene).collect()
}
