//! The directories and files of caches: which are rejected, and which are ignored.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use tessera_test_peers::Directory;

use super::{CACHED, Ends, connection, found, none_is_cached, ways};
use crate::document::DOCUMENT;
use crate::program::{run, stderr, tessera};

/// Unreadable files are ignored and replaced; no connection is refused for them.
#[test]
fn files_that_are_damaged_or_newer_are_named_and_ignored() {
    let ends = Ends::new();
    let server = ends.serve();
    ends.connect(&server);
    let address = server.address.clone();
    server.end();
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("damaged", |bytes| bytes.truncate(bytes.len() - 1)),
        ("damaged", |bytes| bytes[40] ^= 1),
        ("damaged", Vec::clear),
        // The version is after the name.
        ("newer", |bytes| bytes[15] = 0xff),
    ];
    for (number, (told, damage)) in damages.into_iter().enumerate() {
        for end in ["server", "client"] {
            let mut bytes = fs::read(ends.file(end)).unwrap();
            damage(&mut bytes);
            fs::write(ends.file(end), bytes).unwrap();
        }
        let server = ends.serve_at(&address, &[]);
        assert_eq!(found(&server), told);
        let facts = ends.directory(&format!("facts-{number}"));
        let output = ends.run(&server.address, &["--json", &facts]);
        let line = stderr(&output);
        assert!(output.status.success(), "{line}");
        let facts = fs::read_to_string(facts).unwrap();
        let fact = DOCUMENT.parse(facts.lines().next().unwrap());
        assert_eq!([&fact["event"], &fact["found"]], ["certificate_cache", told]);
        let why = if told == "newer" { "a newer version" } else { "cut off or changed" };
        let file = ends.file("client").display().to_string();
        assert!(line.contains(&file) && line.contains(why) && line.contains("ignored"), "{line}");
        assert!(none_is_cached(&connection(&server)));
        // Both have learned again.
        assert_eq!(ways(&ends.connect(&server)), CACHED);
        server.end();
    }
}

/// Runs an end with certificates in this directory; it must refuse it with this advice.
fn refused(end: &str, directory: &str, advice: &[&str]) {
    let address = if end == "connect" { "127.0.0.1:1" } else { "--listen=127.0.0.1:0" };
    let mut arguments = vec![end, address, "--cache-certificates", directory];
    if end == "connect" {
        arguments.push("--insecure-accept-any-certificate");
    }
    let output = run(tessera().args(&arguments), "");
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{end}: {told}");
    assert!(told.contains(directory) && advice.iter().all(|it| told.contains(it)), "{end}: {told}");
}

#[test]
fn directories_where_others_can_write_are_refused() {
    let temporary = Directory::new();
    let directory = temporary.path("certificates");
    fs::create_dir(&directory).unwrap();
    let user = fs::metadata(&directory).unwrap().uid();
    for end in ["serve", "connect"] {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        refused(end, &directory, &["others have access to it", "0777", "chmod go-w"]);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "{end}");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        // Only root can change the owner of a directory; other users use one of root's.
        let of_another = if user == 0 { directory.as_str() } else { "/usr" };
        if user == 0 {
            chown(&directory, Some(65_534), None).unwrap();
        }
        refused(end, of_another, &["it belongs to user", "--cache-certificates"]);
        if user == 0 {
            chown(&directory, Some(0), None).unwrap();
        }
    }
    let file = temporary.write("file", "");
    refused("serve", &file, &["--cache-certificates"]);
}

#[test]
fn a_file_that_others_can_read_or_own_is_refused() {
    let ends = Ends::new();
    ends.serve().end();
    let file = ends.file("server");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    refused("serve", &ends.directory("server"), &["others have access to it", "0644", "chmod go="]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    if fs::metadata(&file).unwrap().uid() == 0 {
        chown(&file, Some(65_534), None).unwrap();
        refused("serve", &ends.directory("server"), &["it belongs to user 65534"]);
    }
}

#[test]
fn anything_but_a_file_is_refused() {
    let ends = Ends::new();
    ends.serve().end();
    let file = ends.file("server");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("serve", &ends.directory("server"), &["this is not a file"]);
    fs::remove_dir(&file).unwrap();
    // Opening a pipe must not block.
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    refused("serve", &ends.directory("server"), &["this is not a file"]);
}

#[test]
fn a_directory_that_can_not_be_written_is_refused_at_the_beginning() {
    let ends = Ends::new();
    ends.serve().end();
    // Root can write regardless of permissions, but not over a directory.
    fs::create_dir(format!("{}/clients.new", ends.directory("server"))).unwrap();
    refused("serve", &ends.directory("server"), &["clients", "--cache-certificates"]);
}

#[test]
fn two_servers_do_not_share_a_directory() {
    let ends = Ends::new();
    let server = ends.serve();
    refused("serve", &ends.directory("server"), &["another server keeps its certificates there"]);
    drop(server);
}

#[test]
fn a_state_and_certificates_need_a_directory_each() {
    let directory = Directory::new();
    let both = directory.path("both");
    let output =
        run(tessera().args(["serve", "--state", &both, "--cache-certificates", &both]), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("each needs its own"), "{}", stderr(&output));
    assert!(!Path::new(&both).exists());
}

#[test]
fn certificates_are_not_cached_where_there_can_be_none() {
    let psk = "client1:000102030405060708090a0b0c0d0e0f";
    for end in [&["serve"][..], &["connect", "127.0.0.1:1"]] {
        let options = ["--psk", psk, "--cache-certificates", "/nowhere"];
        let output = run(tessera().args(end).args(options), "");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("has nothing to cache"), "{}", stderr(&output));
    }
    assert!(!Path::new("/nowhere").exists());
}
