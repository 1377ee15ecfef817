//! Unix sockets, and their files.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket as RawSocket, Type};
use tessera_kit::ProgramError;

use super::ListenOptions;

/// The file of a Unix socket created here, removed when dropped.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode: the next process to listen there creates its own file.
    identity: Option<(u64, u64)>,
}

pub(super) fn bind(
    path: &Path,
    options: ListenOptions,
) -> Result<(UnixListener, SocketFile), ProgramError> {
    listen_at(path, options, |_| Ok(()))
}

/// Listens on a Unix socket at `path`, in place of one that a process left when it ended. `prepare` runs once the file
/// exists with its mode, before any client can connect.
///
/// # Errors
/// If the socket can't be created, a process listens on it, it isn't a socket, or `prepare` fails.
pub fn listen_at(
    path: &Path,
    options: ListenOptions,
    prepare: impl FnOnce(&Path) -> io::Result<()>,
) -> Result<(UnixListener, SocketFile), ProgramError> {
    let failed = |error: &io::Error| ProgramError::in_file(path, cannot(error));
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ProgramError::in_file(
                path,
                "this file is not a socket; remove it, or use another path",
            ));
        }
        Ok(_) if is_listened_at(path).map_err(|error| failed(&error))? => {
            return Err(ProgramError::in_file(
                path,
                "another program already listens there; stop it, or use another path",
            ));
        }
        // Left behind by a process that ended.
        Ok(_) => match fs::remove_file(path) {
            // That process has removed it meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            removed => removed.map_err(|error| failed(&error))?,
        },
        Err(error) if error.kind() == ErrorKind::NotFound => (),
        Err(error) => return Err(failed(&error)),
    }
    listen(path, options, prepare).map_err(|error| failed(&error))
}

/// Connects without waiting, since a queue may be full.
fn is_listened_at(path: &Path) -> io::Result<bool> {
    let socket = RawSocket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => Ok(false),
            ErrorKind::WouldBlock => Ok(true),
            _ => Err(error),
        },
        Ok(()) => Ok(true),
    }
}

/// Sets the permissions before `listen`, so that no client can connect with others.
fn listen(
    path: &Path,
    options: ListenOptions,
    prepare: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<(UnixListener, SocketFile)> {
    let socket = RawSocket::new(Domain::UNIX, Type::STREAM, None)?;
    let permissions = Permissions::from_mode(options.unix_mode);
    // The file gets the mode of the socket. A change by its path would follow a link that another user of the directory
    // could have put there.
    File::from(OwnedFd::from(socket.try_clone()?)).set_permissions(permissions.clone())?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path) };
    if fs::symlink_metadata(path)?.mode() & 0o777 != options.unix_mode {
        // The umask took a part of it.
        fs::set_permissions(path, permissions)?;
    }
    prepare(path)?;
    socket.listen(options.backlog.get().into())?;
    Ok((socket.into(), file))
}

fn cannot(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "the directory of the socket does not exist".into(),
        ErrorKind::PermissionDenied => {
            "permission denied; use a directory that this user may write to, such as RuntimeDirectory= of \
             systemd"
                .into()
        }
        _ => format!("can't listen: {error}"),
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env::temp_dir;
    use std::num::NonZeroU16;
    use std::os::unix::net::UnixStream;
    use std::process;

    use super::*;

    /// A directory, removed when dropped.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = temp_dir().join(format!("tessera-proxy-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn bound(path: &Path) -> Result<(UnixListener, SocketFile), String> {
        bind(path, ListenOptions::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_socket_that_a_dead_process_left_is_replaced() {
        let directory = Directory::new("stale");
        let path = directory.0.join("socket");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the standard library leaves the file");

        let (listener, file) = bound(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        assert!(listener.accept().is_ok());
        drop((client, listener, file));
        assert!(!path.exists());
    }

    #[test]
    fn a_socket_with_a_listener_is_left_alone() {
        let directory = Directory::new("busy");
        let path = directory.0.join("socket");
        let first = bound(&path).unwrap();
        let error = bound(&path).unwrap_err();
        assert!(error.contains("another program already listens there"), "{error}");
        assert!(UnixStream::connect(&path).is_ok());

        // A process that replaced the file keeps its own.
        fs::remove_file(&path).unwrap();
        let second = bound(&path).unwrap();
        drop(first);
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
    }

    #[test]
    fn a_listener_whose_queue_is_full_listens_all_the_same() {
        let directory = Directory::new("full");
        let path = directory.0.join("socket");
        let options = ListenOptions { backlog: NonZeroU16::MIN, ..ListenOptions::default() };
        let busy = bind(&path, options).unwrap();
        let queue: Vec<_> = (0..4)
            .map(|_| {
                let client = RawSocket::new(Domain::UNIX, Type::STREAM, None).unwrap();
                client.set_nonblocking(true).unwrap();
                let connected = client.connect(&SockAddr::unix(&path).unwrap());
                (client, connected.map_err(|error| error.kind()))
            })
            .collect();
        assert!(matches!(queue.last(), Some((_, Err(ErrorKind::WouldBlock)))));
        let error = bound(&path).unwrap_err();
        assert!(error.contains("another program already listens there"), "{error}");
        drop((queue, busy));
    }

    #[test]
    fn files_that_are_no_sockets_are_left_alone() {
        let directory = Directory::new("file");
        let path = directory.0.join("socket");
        fs::write(&path, "data").unwrap();
        let error = bound(&path).unwrap_err();
        assert!(error.contains("not a socket"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"data");
        let error = bound(&directory.0.join("missing/socket")).unwrap_err();
        assert!(error.contains("directory"), "{error}");
    }

    #[test]
    fn no_other_user_may_connect_by_default() {
        let directory = Directory::new("mode");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = directory.0.join("own");
        let own = bound(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        let path = directory.0.join("all");
        let options = ListenOptions { unix_mode: 0o666, ..ListenOptions::default() };
        let all = bind(&path, options).unwrap();
        assert_eq!(mode(&path), 0o666);
        drop((own, all));
    }
}
