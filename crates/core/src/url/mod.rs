//! URL
