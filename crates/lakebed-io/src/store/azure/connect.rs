//! Connects to Azure.

use std::sync::Arc;

use lakebed_core::error::{Error, Result};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;

use super::credentials::for_azure;
use super::url::AZURE_CLOUDS;
use crate::store::connection::{
    ConnectError, ConnectRequest, Connection, USER_AGENT, check_encrypted, client_value, elsewhere, is_on,
};
use crate::store::credentials::Refreshing;
use crate::store::url::location::Service;

impl ConnectRequest<'_> {
    pub(in crate::store) fn azure(&self, account: Option<&str>, container: &str) -> Result<Connection, ConnectError> {
        use AzureConfigKey as K;
        let mut found = self.settings::<K>()?;
        // The account in the URL overrides the account in the options, which is for URLs without
        // one.
        if let Some(account) = account {
            found.insert(K::AccountName, account.to_owned());
        }
        check_encrypted(&found, &[K::Endpoint], K::Client(ClientConfigKey::AllowHttp))?;
        let emulator = found.get(&K::UseEmulator).filter(|value| is_on(value)).map(|_| "the emulator's address".to_owned());
        let endpoint = found.get(&K::Endpoint).and_then(|endpoint| elsewhere(endpoint, &AZURE_CLOUDS)).or(emulator);
        let account = found.get(&K::AccountName).cloned();
        if account.is_none() && !found.contains_key(&K::UseEmulator) {
            let message = format!(
                "{}: the account is missing: set azure_storage_account_name, or write abfss://{container}@ACCOUNT.dfs.core.windows.net/…",
                self.location.url
            );
            return Err(Error::invalid_input(message).into());
        }
        let mut builder = MicrosoftAzureBuilder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_container_name(container).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_azure)));
        }
        let service = Service::Azure { account, container: container.to_owned() };
        Ok(Connection { service, endpoint, ..self.paged(Arc::new(builder.build()?)) })
    }
}
