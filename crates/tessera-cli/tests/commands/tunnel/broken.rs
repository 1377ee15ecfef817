//! Invalid files: exit code 2, the file's name, and what to do.

use crate::program::{run, stderr, tessera};
use crate::running::{Stage, backend};

/// Returns what both `check` and `run` report of a file that they reject.
fn refused(file: &str) -> String {
    let [checked, ran] = ["check", "run"].map(|command| {
        let output = run(tessera().args(["tunnel", command, file]), "");
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        let told = stderr(&output);
        let error = told.lines().find(|line| line.starts_with("error: "));
        error.unwrap_or_else(|| panic!("{command}: {told}")).to_owned()
    });
    assert_eq!(checked, ran, "both report the same");
    checked
}

#[test]
fn a_key_that_is_not_known_has_its_line_and_the_nearest_one() {
    let stage = Stage::new();
    let section = stage.server("a", backend(""), "").replace("forward =", "forwards =");
    let told = refused(&stage.write("a.toml", &[&section]));
    assert!(told.contains("a.toml:7: ") && told.contains("forwards"), "{told}");
    assert!(told.contains("did you mean `forward`?"), "{told}");
    let section = stage.server("a", backend(""), "").replacen("[server.a]", "[sever.a]", 1);
    let told = refused(&stage.write("b.toml", &[&section]));
    assert!(
        told.contains("b.toml:5: there is no section [sever]; did you mean `server`?"),
        "{told}"
    );
}

#[test]
fn files_that_are_broken_are_named_with_what_to_do() {
    let stage = Stage::new();
    let good = stage.server("a", backend(""), "");
    let (certificate, key, root) = ("server.pem", "server.key", "root.pem");
    let path = |name: &str| stage.pki.path(name);
    let garbage = stage.files.write("garbage.pem", "garbage\n");
    let cases = [
        (
            good.replace(&path(certificate), &path("missing.pem")),
            "missing.pem: there is no such file",
        ),
        (good.replace(&path(certificate), &garbage), "garbage.pem"),
        (good.replace(&path(key), &path("client.key")), "client.key"),
        (good.replace(&path(root), &garbage), "garbage.pem"),
        (
            good.replace(&path(certificate), &path("client.pem")),
            "the private key belongs to another certificate",
        ),
    ];
    for (section, expected) in cases {
        let told = refused(&stage.write("a.toml", &[&section]));
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn contradictions_have_the_line_of_the_key() {
    let stage = Stage::new();
    let section = stage.server("a", backend(""), "").replace("names = [\"client.example\"]\n", "");
    let told = refused(&stage.write("a.toml", &[&section]));
    assert!(told.contains("a.toml:") && told.contains("any-of-ca"), "{told}");
    let told = refused(&stage.files.write("b.toml", "[process]\nlog = \"json\"\n"));
    assert!(told.contains("b.toml: no tunnel is configured"), "{told}");
}

#[test]
fn a_file_that_could_run_is_shown_as_a_table() {
    let stage = Stage::new();
    let address = backend("");
    let (server, client) =
        (stage.server("a", address, ""), stage.client("b", address, "spare = 2"));
    let file = stage.write("a.toml", &[&server, &client]);
    let output = run(tessera().args(["tunnel", "check", &file]), "");
    let told = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for text in [
        "a.toml can run.",
        "[server.a]",
        "for client.example",
        "forward-secret, at most once",
        &format!("forwards to  {address}"),
        "[client.b]",
        "2 connections",
        "drain               1s",
    ] {
        assert!(told.contains(text), "{text:?} is not in\n{told}");
    }
}
