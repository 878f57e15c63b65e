import { campaignTest } from "./support/fault-campaign.ts";

campaignTest("kubernetes");
