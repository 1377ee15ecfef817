//! A Unix socket to which one user alone may connect.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, lchown};
use std::path::Path;

use tessera_kit::ProgramError;
use tokio::net::UnixListener;

use super::{ListenOptions, SocketFile, listen_at};

/// Listens on a Unix socket with mode 0600, which belongs to the owner of its directory.
///
/// # Errors
/// If it can't be created, a process listens on it, it isn't a socket, or others may write to its directory.
pub fn listen_private(path: &Path) -> Result<(UnixListener, SocketFile), ProgramError> {
    let failed = |error: io::Error| ProgramError::in_file(path, error);
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of_directory = fs::metadata(directory).map_err(failed)?;
    if of_directory.mode() & 0o022 != 0 {
        return Err(ProgramError::in_file(
            directory,
            "others may write to this directory: its owner alone should",
        ));
    }
    let (listener, file) = listen_at(path, ListenOptions::default(), |path| {
        if created(path)?.uid() == 0 && of_directory.uid() != 0 {
            lchown(path, Some(of_directory.uid()), Some(of_directory.gid()))?;
        }
        created(path).map(drop)
    })?;
    let listener = listener.set_nonblocking(true).and_then(|()| UnixListener::from_std(listener));
    Ok((listener.map_err(failed)?, file))
}

/// Returns what is there, which the owner of the directory could have replaced: nothing else is given away, nor used.
fn created(path: &Path) -> io::Result<Metadata> {
    let metadata = fs::symlink_metadata(path)?;
    let is_ours = metadata.file_type().is_socket()
        && metadata.mode() & 0o777 == 0o600
        && metadata.nlink() == 1;
    match is_ours {
        true => Ok(metadata),
        false => Err(io::Error::new(ErrorKind::PermissionDenied, "it was replaced meanwhile")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_an_error() {
        let directory =
            std::env::temp_dir().join(format!("tessera-private-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        let path = directory.join("sds");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (listener, file) = listen_private(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let error = || listen_private(&path).err().unwrap().to_string();
        assert!(error().contains("another program already listens there"), "{}", error());
        drop((listener, file));
        assert!(!path.exists());

        fs::write(&path, "").unwrap();
        assert!(error().contains("this file is not a socket"), "{}", error());
        fs::remove_file(&path).unwrap();
        for mode in [0o777, 0o775] {
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            assert!(error().contains("others may write to this directory"), "{}", error());
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn only_a_new_socket_is_given_away() {
        let directory = std::env::temp_dir().join(format!("tessera-ours-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let at = |name: &str| directory.join(name);
        let _listener = std::os::unix::net::UnixListener::bind(at("sds")).unwrap();
        let mode = |mode| fs::set_permissions(at("sds"), Permissions::from_mode(mode)).unwrap();
        mode(0o600);
        assert!(created(&at("sds")).is_ok());
        mode(0o666);
        assert!(created(&at("sds")).is_err());
        mode(0o600);
        fs::write(at("file"), "").unwrap();
        fs::set_permissions(at("file"), Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("sds", at("link")).unwrap();
        for other in ["file", "link", "none"] {
            assert!(created(&at(other)).is_err(), "{other}");
        }
        fs::hard_link(at("sds"), at("second")).unwrap();
        assert!(created(&at("sds")).is_err(), "a second name of another file");
        fs::remove_dir_all(&directory).unwrap();
    }

    /// The program that connects runs as the owner of the directory, who gets the socket.
    #[tokio::test]
    async fn the_socket_belongs_to_the_owner_of_its_directory() {
        const NOBODY: u32 = 65_534;
        let directory = std::env::temp_dir().join(format!("tessera-owner-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        let own = fs::metadata(&directory).unwrap().uid();
        // Only root can give it away.
        let owner = if own == 0 { NOBODY } else { own };
        lchown(&directory, Some(owner), None).unwrap();
        let (_listener, _file) = listen_private(&directory.join("sds")).unwrap();
        let metadata = fs::symlink_metadata(directory.join("sds")).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (owner, 0o600));
        fs::remove_dir_all(&directory).unwrap();
    }
}
