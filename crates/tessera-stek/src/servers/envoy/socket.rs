//! The socket, to which Envoy alone may connect.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::UnixListener;

/// The file of the socket; removed when it is dropped.
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode: the next process creates its own file.
    identity: (u64, u64),
}

/// Listens on a Unix socket with mode 0600, which belongs to the owner of its directory.
///
/// # Errors
/// If it can't be created, a process listens on it, it isn't a socket, or others may write to its directory.
pub(super) fn listen(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    let shown = path.display();
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let of_directory = fs::metadata(directory)?;
    if of_directory.mode() & 0o022 != 0 {
        let what = format!("others may write to {}: its owner alone should", directory.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let what = format!("{shown} is not a socket; remove it, or use another path");
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        Ok(_) if has_listener(path)? => {
            let what = format!("another process listens on {shown}; stop it, or use another path");
            return Err(io::Error::new(ErrorKind::AddrInUse, what));
        }
        // Left by a process that ended.
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => (),
        Err(error) => return Err(error),
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // The file gets the mode of the socket. Nothing is done by path that follows links: the owner of the directory could
    // have put one there.
    File::from(OwnedFd::from(socket.try_clone()?))
        .set_permissions(Permissions::from_mode(0o600))?;
    socket.bind(&SockAddr::unix(path)?)?;
    let own = fs::symlink_metadata(path)?;
    let file = SocketFile { path: path.to_owned(), identity: (own.dev(), own.ino()) };
    if own.uid() == 0 && of_directory.uid() != 0 {
        lchown(path, Some(of_directory.uid()), Some(of_directory.gid()))?;
    }
    // Only this lets clients connect.
    let created = fs::symlink_metadata(path)?;
    if !created.file_type().is_socket() || created.mode() & 0o777 != 0o600 {
        let what = format!("{shown} was replaced by something else");
        return Err(io::Error::new(ErrorKind::PermissionDenied, what));
    }
    socket.listen(16)?;
    Ok((UnixListener::from_std(socket.into())?, file))
}

/// Connects without waiting, since a queue may be full.
fn has_listener(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(false),
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        _ => Ok(true),
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_an_error() {
        let directory =
            std::env::temp_dir().join(format!("tessera-stek-sds-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o755)).unwrap();
        let path = directory.join("sds");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (listener, file) = listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(listen(&path).err().unwrap().kind(), ErrorKind::AddrInUse);
        drop((listener, file));
        assert!(!path.exists());

        fs::write(&path, "").unwrap();
        assert_eq!(listen(&path).err().unwrap().kind(), ErrorKind::AlreadyExists);
        fs::remove_file(&path).unwrap();
        for mode in [0o777, 0o775] {
            fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            assert_eq!(listen(&path).err().unwrap().kind(), ErrorKind::PermissionDenied);
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    /// Envoy's user owns the directory, and gets the socket.
    #[tokio::test]
    async fn the_socket_belongs_to_the_owner_of_its_directory() {
        const NOBODY: u32 = 65_534;
        let directory =
            std::env::temp_dir().join(format!("tessera-stek-owner-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        let own = fs::metadata(&directory).unwrap().uid();
        // Only root can give it away.
        let owner = if own == 0 { NOBODY } else { own };
        lchown(&directory, Some(owner), None).unwrap();
        let (_listener, _file) = listen(&directory.join("sds")).unwrap();
        let metadata = fs::symlink_metadata(directory.join("sds")).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o777), (owner, 0o600));
        fs::remove_dir_all(&directory).unwrap();
    }
}
