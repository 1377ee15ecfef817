//! The store that the members of a pool share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_store::{FileStore, Store};

use super::config::EtcdSection;
use super::etcd::etcd_client;

/// Opens the store of a section, in errors by its name: in etcd, which need not be reached now, with this limit for each request;
/// or in a file. Blocks for a moment with a file.
///
/// # Errors
/// If neither is set, or a file is invalid.
pub fn open_store(
    section: &str,
    etcd: Option<&EtcdSection>,
    file: Option<&Path>,
    deadline: Duration,
) -> Result<Arc<dyn Store>, ProgramError> {
    match (etcd, file) {
        (Some(etcd), _) => Ok(Arc::new(etcd_client(section, etcd, deadline)?)),
        (None, Some(path)) => match FileStore::open(path) {
            Ok(store) => Ok(Arc::new(store)),
            Err(error) => Err(ProgramError::Failed(error.to_string())),
        },
        (None, None) => {
            Err(ProgramError::settings(format!("[{section}] etcd: where the store is must be set")))
        }
    }
}
