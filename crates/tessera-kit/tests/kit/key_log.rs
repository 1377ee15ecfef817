//! The file of secrets: readable by Wireshark, and by its owner only.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tessera::KeyLog;
use tessera_kit::SettingFile;
use tessera_kit::key_log::KeyLogFile;

#[test]
fn a_key_log_is_appended_to_and_readable_by_its_owner_alone() {
    let path = std::env::temp_dir().join(format!("tessera-kit-keys-{}", std::process::id()));
    let file = SettingFile { setting: "SSLKEYLOGFILE", path: &path };
    for label in ["CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"] {
        KeyLogFile::open(file).unwrap().log(label, &[0xab; 32], &[1, 2, 0xff]);
    }
    let random = "ab".repeat(32);
    let expected = format!(
        "CLIENT_TRAFFIC_SECRET_0 {random} 0102ff\nSERVER_TRAFFIC_SECRET_0 {random} 0102ff\n"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::remove_file(&path).unwrap();

    let nowhere = SettingFile { setting: "SSLKEYLOGFILE", path: &path.join("deeper") };
    let why = KeyLogFile::open(nowhere).unwrap_err().to_string();
    assert!(why.contains("SSLKEYLOGFILE"), "{why}");
}
