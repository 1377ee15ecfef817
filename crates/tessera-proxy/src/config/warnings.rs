//! Configurations that are valid but probably not intended: a check prints these warnings, and a start logs them. An
//! unreadable file causes no warning: loading it is an error.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tessera_kit::credential::vouches_for_itself_alone;
use tessera_kit::{SettingFile, pem};

use crate::address::ListenAddress;

/// Returns a warning about an admin port (`setting`) that listens on every address: it has no authentication.
pub fn open_admin(setting: &str, admin: &ListenAddress) -> Option<String> {
    admin.is_everywhere().then(|| {
        format!(
            "{setting}: {admin}: this port has no authentication, and serves every client that reaches this machine; \
             listen on 127.0.0.1, [::1], unix:PATH, or an address of your own network"
        )
    })
}

/// Returns a warning about a file with secrets that every user of this machine can read or replace.
pub fn readable_secret(file: SettingFile<'_>) -> Option<String> {
    let SettingFile { setting, path } = file;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o006 != 0).then(|| {
        format!(
            "{setting}: every user of this machine can read or replace {0} (mode {mode:04o}); chmod o= {0}",
            path.display()
        )
    })
}

/// Returns a warning about a certificate among roots that verifies only itself. `otherwise` is what to do if that is
/// intended.
pub fn leaf_as_root(file: SettingFile<'_>, otherwise: &str) -> Option<String> {
    let SettingFile { setting, path } = file;
    let roots = pem::certificates(file).ok()?;
    let number = 1 + roots.iter().position(|root| vouches_for_itself_alone(root))?;
    Some(format!(
        "{setting}: certificate {number} of {} is not an authority's, so it accepts only a peer with this very \
         certificate; name the certificate of the authority that issued it{otherwise}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_everybody_reads_is_a_warning() {
        let path = std::env::temp_dir().join(format!("tessera-warnings-{}", std::process::id()));
        let warning = || readable_secret(SettingFile { setting: "[local] key", path: &path });
        assert_eq!(warning(), None, "there is none");
        fs::write(&path, "").unwrap();
        for (mode, is_readable) in [(0o600, false), (0o640, false), (0o644, true), (0o602, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(warning().is_some(), is_readable, "{mode:o}");
        }
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_admin_port_on_every_address_is_a_warning() {
        for (address, is_open) in [
            ("0.0.0.0:9464", true),
            ("[::]:9464", true),
            (":9464", true),
            ("127.0.0.1:9464", false),
            ("192.0.2.1:9464", false),
            ("unix:/run/admin.sock", false),
        ] {
            let warning = open_admin("[process] admin", &address.parse().unwrap());
            assert_eq!(warning.is_some(), is_open, "{address}");
        }
    }
}
