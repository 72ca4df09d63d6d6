//! Credentials for Azure.

use lakebed_core::error::{Error, Result};
use object_store::azure::{AzureAccessKey, AzureConfigKey, AzureCredential};
use percent_encoding::percent_decode_str;

use crate::store::credentials::{Credentials, lacks};
use crate::store::options::settings;

pub(in crate::store) fn for_azure(credentials: &Credentials) -> Result<AzureCredential> {
    let named = settings::<AzureConfigKey>(&[], &[], &credentials.options, true)?;
    if let Some(token) = named.get(&AzureConfigKey::Token) {
        Ok(AzureCredential::BearerToken(token.clone()))
    } else if let Some(sas) = named.get(&AzureConfigKey::SasKey) {
        Ok(AzureCredential::SASToken(sas_pairs(sas)?))
    } else if let Some(key) = named.get(&AzureConfigKey::AccessKey) {
        let key = AzureAccessKey::try_new(key)
            .map_err(|_| Error::invalid_input("azure_storage_account_key from the credentials source is not base64"))?;
        Ok(AzureCredential::AccessKey(key))
    } else {
        Err(lacks("Azure", "azure_storage_token, azure_storage_sas_token or azure_storage_account_key", credentials))
    }
}

/// Returns the pairs of `sv=…&sig=…`. The question mark and percent-encoding are optional.
fn sas_pairs(sas: &str) -> Result<Vec<(String, String)>> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    sas.trim()
        .trim_start_matches('?')
        .split('&')
        .filter(|pair| !pair.trim().is_empty())
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => Ok((plain(name), plain(value))),
            None => {
                Err(Error::invalid_input("azure_storage_sas_token from the credentials source is not of the form name=value&…"))
            }
        })
        .collect()
}
