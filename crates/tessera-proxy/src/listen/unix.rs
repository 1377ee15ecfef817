//! Unix sockets, which have a file.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket as RawSocket, Type};
use tessera_kit::ProgramError;

use super::ListenOptions;

/// The file of a Unix socket that was made here, removed when it is dropped.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode: whoever listens there next has a file of its own.
    identity: Option<(u64, u64)>,
}

pub(super) fn bind(
    path: &Path,
    options: ListenOptions,
) -> Result<(UnixListener, SocketFile), ProgramError> {
    let failed = |error: &io::Error| ProgramError::in_file(path, cannot(error));
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ProgramError::in_file(
                path,
                "there is a file that is no socket; remove it, or use another path",
            ));
        }
        Ok(_) => match UnixStream::connect(path) {
            // A process that ended without removing it.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|error| failed(&error))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            Err(error) => return Err(failed(&error)),
            Ok(_) => {
                return Err(ProgramError::in_file(
                    path,
                    "another program listens there; end it, or use another path",
                ));
            }
        },
        Err(error) if error.kind() == ErrorKind::NotFound => (),
        Err(error) => return Err(failed(&error)),
    }
    listen(path, options).map_err(|error| failed(&error))
}

/// Nobody can connect before `listen`, so nobody can with other permissions than these.
fn listen(path: &Path, options: ListenOptions) -> io::Result<(UnixListener, SocketFile)> {
    let socket = RawSocket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path) };
    fs::set_permissions(path, fs::Permissions::from_mode(options.unix_mode))?;
    socket.listen(options.backlog.get().into())?;
    Ok((socket.into(), file))
}

fn cannot(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "the directory that the socket should be in does not exist".into(),
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
