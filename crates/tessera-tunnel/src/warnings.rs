//! What a configuration may say, and probably doesn't mean: `check` shows it, and a start logs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tessera::Role;
use tessera_kit::credential::vouches_for_itself_alone;
use tessera_kit::{SettingFile, pem};
use tessera_proxy::address::ListenAddress;

use crate::config::{Anchors, ClientSection, Peers, Process, ServerSection};
use crate::tls;

pub(crate) fn of_process(process: &Process) -> Option<String> {
    let admin = process.admin.as_ref()?;
    let is_everywhere = match admin {
        ListenAddress::Everywhere(_) => true,
        ListenAddress::Tcp(address) => address.ip().to_canonical().is_unspecified(),
        ListenAddress::Name(_) | ListenAddress::Unix(_) | ListenAddress::Inherited(_) => false,
    };
    is_everywhere.then(|| {
        format!(
            "[process] admin: {admin}: metrics and health have no authentication, and everybody who reaches this \
             machine can read them there; listen on 127.0.0.1, [::1], unix:PATH, or an address of a network of yours"
        )
    })
}

pub(crate) fn of_server(name: &str, section: &ServerSection) -> Vec<String> {
    let ServerSection { certificate, key, peers, .. } = section;
    let own = Own { certificate: certificate.as_deref(), key: key.as_deref(), role: Role::Server };
    let label = format!("server.{name}");
    let mut warnings = of_section(&label, &own, peers);
    if let Some(fleet) = &section.fleet {
        let etcd = (&fleet.etcd.key, fleet.etcd.certificate.as_deref());
        let sites = fleet.sites.as_ref().map(|sites| (&sites.key, Some(&*sites.certificate)));
        let keys = [("fleet.etcd.key", Some(etcd)), ("fleet.sites.key", sites)];
        warnings.extend(keys.into_iter().filter_map(|(setting, files)| {
            let (key, certificate) = files?;
            everybody_reads(&label, setting, key.as_deref().or(certificate)?)
        }));
    }
    warnings
}

pub(crate) fn of_client(name: &str, section: &ClientSection) -> Vec<String> {
    let ClientSection { certificate, key, peers, .. } = section;
    let own = Own { certificate: certificate.as_deref(), key: key.as_deref(), role: Role::Client };
    of_section(&format!("client.{name}"), &own, peers)
}

/// What an end shows of itself.
struct Own<'a> {
    certificate: Option<&'a Path>,
    key: Option<&'a Path>,
    role: Role,
}

fn of_section(label: &str, own: &Own<'_>, peers: &Peers) -> Vec<String> {
    let certificate = tls::warning(label, own.certificate, own.role);
    let key = own.key.or(own.certificate).and_then(|path| everybody_reads(label, "key", path));
    let psks = peers.psk_file.as_deref();
    let psks = psks.and_then(|path| everybody_reads(label, "peers.psk-file", path));
    certificate.into_iter().chain(key).chain(psks).chain(no_root(label, peers)).collect()
}

/// Of a file with secrets. What can't be asked is the error of whoever reads it.
fn everybody_reads(label: &str, key: &str, path: &Path) -> Option<String> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o006 != 0).then(|| {
        format!(
            "[{label}] {key}: everybody on this machine can read or replace {0} (mode {mode:04o}); chmod o= {0}",
            path.display()
        )
    })
}

fn no_root(label: &str, peers: &Peers) -> Option<String> {
    let Some(Anchors::File(path)) = &peers.ca else { return None };
    let setting = &format!("[{label}] peers.ca");
    let roots = pem::certificates(SettingFile { setting, path }).ok()?;
    let number = 1 + roots.iter().position(|root| vouches_for_itself_alone(root))?;
    Some(format!(
        "{setting}: certificate {number} of {} is not an authority's, and accepts the peer that shows this very one alone; \
         name the certificate of the authority that issued it, or, where it is meant, its SHA-256 in `fingerprints`",
        path.display()
    ))
}
