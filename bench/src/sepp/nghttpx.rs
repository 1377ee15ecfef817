//! nghttpx at either end, of the Debian package nghttp2-proxy.

use tessera_proxy::demo::HOME;

use crate::setting::{End, SUITE, Setting};

pub(crate) fn arguments(setting: &Setting<'_>) -> Vec<String> {
    let Setting { end, files, listen, n32f, network_function, .. } = setting;
    let (ip, port) = (listen.ip(), listen.port());
    // Debian's configuration is another. One process: by default a second one does the work.
    let common = [
        "--conf=/dev/null",
        "--single-process",
        "--single-thread",
        "--workers=1",
        "--no-ocsp",
        "--log-level=WARN",
    ];
    let tls = [
        "--tls-min-proto-version=TLSv1.3",
        "--tls-max-proto-version=TLSv1.3",
        "--ecdh-curves=X25519",
    ];
    let mut arguments: Vec<String> = common.into_iter().chain(tls).map(str::to_owned).collect();
    arguments
        .extend([format!("--tls13-ciphers={SUITE}"), format!("--tls13-client-ciphers={SUITE}")]);
    match end {
        End::Visited => arguments.extend([
            format!("--frontend={ip},{port};no-tls"),
            format!("--backend={},{};;proto=h2;tls;sni={}", n32f.ip(), n32f.port(), HOME.fqdn),
            format!("--cacert={}", files.home.ca),
            format!("--client-private-key-file={}", files.visited.key),
            format!("--client-cert-file={}", files.visited.certificate),
        ]),
        End::Home => arguments.extend([
            format!("--frontend={ip},{port}"),
            format!("--backend={},{};;proto=h2", network_function.ip(), network_function.port()),
            "--verify-client".to_owned(),
            format!("--verify-client-cacert={}", files.visited.ca),
            files.home.key.clone(),
            files.home.certificate.clone(),
        ]),
    }
    arguments
}
