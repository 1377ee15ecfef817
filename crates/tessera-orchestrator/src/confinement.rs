//! What an orchestrator needs from the machine.

use std::path::Path;

use tessera_proxy::confine::{Confinement, Needs};

use crate::config::Configuration;

/// Returns the access that a configuration needs: the directories of its files, and the ports.
pub(crate) fn of(configuration: &Configuration, file: &Path) -> Confinement {
    let mut needs = Needs::new();
    needs.file(Some(file));
    configuration.process.admin.iter().for_each(|address| needs.listen(address));
    let (pool, api) = (&configuration.pool, &configuration.api);
    pool.etcd.iter().for_each(|etcd| needs.etcd(etcd));
    let directory = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
    pool.file.iter().for_each(|path| needs.directory(&directory(path)));
    needs.listen(&api.listen);
    needs.files([&api.certificate, &api.ca].into_iter().chain(&api.key));
    needs.confinement()
}
