//! Bodies that are passed on as they come.
