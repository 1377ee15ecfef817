//! Writes a chain of two certificates below a root, all with ML-DSA-44, and the server's key: for `firmware/pki`.

use std::path::PathBuf;
use std::{env, error, fs};

use rcgen::{KeyPair, KeyUsagePurpose, PKCS_ML_DSA_44};
use tessera_pki::{Authority, rcgen};

fn main() -> Result<(), Box<dyn error::Error>> {
    let folder = PathBuf::from(env::args().nth(1).ok_or("a folder is missing")?);
    fs::create_dir_all(&folder)?;
    let only_issues = |params: &mut rcgen::CertificateParams| {
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    };
    let root = Authority::with("root", &PKCS_ML_DSA_44, only_issues);
    let between = root.below_with("between", &PKCS_ML_DSA_44, only_issues);
    let key = KeyPair::generate_for(&PKCS_ML_DSA_44)?;
    let server = between.issue_for(key, &["server.example"], |_| ());
    for (name, der) in [
        ("root", root.der()),
        ("between", between.der()),
        ("server", server.der()),
        ("server.key", server.key_der()),
    ] {
        fs::write(folder.join(format!("{name}.der")), der)?;
    }
    Ok(())
}
