//! Connections of clients, served within limits.
