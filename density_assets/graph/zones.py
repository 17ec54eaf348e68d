"""How zones are shown and owned: groups that read as the story on the lineage page, and the teams behind them."""

from density_assets.privacy.zones import Zone

GROUPS = {
    Zone.PUBLIC: "1_public",
    Zone.CONFIDENTIAL: "2_confidential",
    Zone.MECHANISM: "3_mechanisms",
    Zone.RELEASE: "4_release",
    Zone.EVALUATION: "5_evaluation",
}
FINAL = "4_final_estimates"  # of the release zone, and made only when somebody asks
WRITER = "tables"  # pool of runs that write tables: they queue, see dagster.yaml
OWNERS = {
    Zone.PUBLIC: "team:geography",
    Zone.CONFIDENTIAL: "team:data-protection",
    Zone.MECHANISM: "team:data-protection",
    Zone.RELEASE: "team:publication",
    Zone.EVALUATION: "team:data-protection",
}
