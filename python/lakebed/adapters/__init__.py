"""The libraries whose frames and relations lakebed takes and gives: one module each, which imports its library only when it is used."""
